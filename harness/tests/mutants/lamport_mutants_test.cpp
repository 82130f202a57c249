// SPDX-License-Identifier: Apache-2.0
// The invariants of Lamport steps, each broken on purpose. What both transports share is in mutants_test.cpp.
//
// Mutants that change nothing that a correct observer could see (equivalent), and why:
// * Credit granted but not awaited, or granted without its release: on the host fabric the header's own words are
//   released and acquired, and order the same stores. The credit is for machines whose post hands over reads alone.
// * List of exceptions of an output dropped: the simulated experts' NaNs are canonical, so that no output has a word of
//   all ones. lib/tests/injection/lamport_mutant_test.cpp has outputs of any bits.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "mutant.hpp"

namespace switchyard::harness {
namespace {

using injection::effect;
using injection::operation;
using layout::region;

case_spec base_case() {
  case_spec spec;
  spec.suite = "mutants";
  spec.name = "lamport";
  spec.id = "mutants/lamport";
  spec.ep_size = 3;
  spec.params = {.num_experts = 9, .top_k = 3, .max_tokens_per_rank = 40, .hidden_size = 64};
  spec.num_tokens = 33;
  spec.runtime_max_tokens = 40;
  spec.invalid_percent = 10;
  spec.steps = 5;
  spec.blocks = 2;
  spec.workers = 2;
  spec.timeout = std::chrono::milliseconds(400);
  spec.warmup_timeout = spec.timeout;
  return spec;
}

void one_thread(case_spec& spec) {
  spec.blocks = 1;
  spec.workers = 1;
}
// So that whoever does not wait, or re-arms too late, meets a peer that is ahead.
void late_ranks(case_spec& spec) {
  spec.late.at_most = std::chrono::milliseconds(5);
  spec.steps = 12;
}
void full_rows(case_spec& spec) { spec.num_tokens = 40; }

/// Rank 0 pauses before the first word of one of its last rows, when its header is complete already: who does not wait
/// for that word comes too early.
injection::mutation late_word() {
  constexpr std::uint64_t tokens = 40;
  constexpr std::uint64_t token = 36;  // one of the last role's, which also completes the header
  const layout::extents dims{.ep_size = 3, .top_k = 3, .max_tokens = tokens, .hidden_bytes = 128};
  return {.op = operation::send_word,
          .what = effect::delay,
          .amount = 20'000,
          .region = region::lamport_dispatch_inbox,
          .offset = token * dims.lamport_row_bytes(),
          .rank = 0};
}

void one_thread_and_long_steps(case_spec& spec) {
  one_thread(spec);
  spec.steps = 12;
}
void fp32_sums(case_spec& spec) { spec.params.dtype = dtype::fp32; }
void hard_words(case_spec& spec) { spec.values = hidden_values::hard_words; }
void rank_2_skips_dispatch(case_spec& spec) {
  spec.inject = injected_fault{.rank = 2, .step = 0, .phase = phase::dispatch};
  spec.expected_fault = fault_code::timeout;
}
void rank_2_skips_combine(case_spec& spec) {
  spec.inject = injected_fault{.rank = 2, .step = 0, .phase = phase::combine};
  spec.expected_fault = fault_code::timeout;
}

std::vector<mutant> all_mutants() {
  const std::set<verdict> wrong_rows{verdict::loss, verdict::stale, verdict::corruption, verdict::misplacement};
  const auto seen = [](std::set<verdict> v) { return killed_by{std::move(v), {}}; };
  const auto fault = [](std::set<fault_code> f) { return killed_by{{}, std::move(f)}; };
  return {
      // Words: each is stored once, as it is, to its place at its rank (invariants 2, 9).
      {"lost_word",
       {.op = operation::send_word,
        .what = effect::drop,
        .region = region::lamport_dispatch_inbox,
        .rank = 0,
        .peer = 1,
        .at_most = 1},
       fault({fault_code::timeout})},
      {"lost_word_of_an_output",
       {.op = operation::send_word, .what = effect::drop, .region = region::lamport_combine_inbox, .at_most = 1},
       fault({fault_code::timeout})},
      {"word_at_another_peer",
       {.op = operation::send_word,
        .what = effect::redirect,
        .amount = 1,
        .region = region::lamport_dispatch_inbox,
        .rank = 0,
        .at_most = 1},
       fault({fault_code::timeout})},
      {"bit_of_a_word_flipped",
       {.op = operation::send_word,
        .what = effect::corrupt,
        .amount = 1024,
        .region = region::lamport_dispatch_inbox,
        .at_most = 1},
       seen({verdict::corruption})},
      {"bit_of_an_output_flipped",
       {.op = operation::send_word,
        .what = effect::corrupt,
        .amount = 1ULL << 14,
        .region = region::lamport_combine_inbox,
        .at_most = 1},
       seen({verdict::wrong_sum})},
      {"exception_dropped",
       {.op = operation::list_exception, .what = effect::drop},
       seen({verdict::corruption}),
       hard_words},
      {"own_rows_not_copied",
       {.op = operation::copy_local, .what = effect::drop, .region = region::hidden_states},
       seen(wrong_rows)},
      {"own_ids_not_copied",
       {.op = operation::copy_local, .what = effect::drop, .region = region::topk_ids},
       seen(wrong_rows)},
      // Readiness: nothing is taken before it has come (invariant 9).
      {"readiness_ignored_in_dispatch",
       {.op = operation::load_word, .what = effect::retag, .region = region::lamport_dispatch_inbox},
       seen(wrong_rows),
       full_rows,
       late_word()},
      {"readiness_ignored_in_combine",
       {.op = operation::load_word, .what = effect::retag, .region = region::lamport_combine_inbox},
       seen({verdict::wrong_sum}),
       late_ranks},
      {"rows_not_awaited",
       {.op = operation::wait_all, .what = effect::drop, .wait_for = awaited::rows},
       {{verdict::loss, verdict::stale, verdict::corruption, verdict::misplacement, verdict::wrong_sum}, {}},
       late_ranks},
      {"headers_not_awaited",
       {.op = operation::wait_all, .what = effect::drop, .wait_for = awaited::header},
       fault({fault_code::bad_header, fault_code::step_mismatch, fault_code::timeout}),
       late_ranks},
      {"stale_header_accepted",
       {.op = operation::poll, .what = effect::retag, .region = region::headers},
       fault({fault_code::bad_header, fault_code::step_mismatch}),
       late_ranks},
      // Re-arming: every word that was taken, no other, and before the credit (invariant 3).
      {"no_rearming",
       {.op = operation::rearm_word, .what = effect::drop, .region = region::lamport_dispatch_inbox},
       seen(wrong_rows),
       full_rows,
       late_word()},
      {"no_rearming_of_outputs",
       {.op = operation::rearm_word, .what = effect::drop, .region = region::lamport_combine_inbox},
       seen({verdict::wrong_sum})},
      {"next_unit_rearmed_too",
       {.op = operation::rearm_word, .what = effect::next_slot, .amount = 16, .region = region::lamport_dispatch_inbox},
       fault({fault_code::timeout}),
       late_ranks},
      {"next_unit_of_an_output_rearmed_too",
       {.op = operation::rearm_word, .what = effect::next_slot, .amount = 16, .region = region::lamport_combine_inbox},
       fault({fault_code::timeout}),
       late_ranks},
      // The two halves of the argument: what a dispatch took is re-armed before this rank's combine says so, what a
      // combine took before its next dispatch does. Put off by a phase, it hits what a peer has sent on their word.
      {"dispatch_rearms_after_the_credit_of_combine",
       {.op = operation::rearm_word,
        .what = effect::defer,
        .amount = 20'000,
        .region = region::lamport_dispatch_inbox,
        .rank = 1,
        .at_most = 400},
       fault({fault_code::timeout}),
       one_thread_and_long_steps},
      {"combine_rearms_after_the_credit_of_dispatch",
       {.op = operation::rearm_word,
        .what = effect::defer,
        .amount = 20'000,
        .region = region::lamport_combine_inbox,
        .rank = 1,
        .at_most = 400},
       fault({fault_code::timeout}),
       one_thread_and_long_steps},
      {"credit_not_granted",
       {.op = operation::publish, .what = effect::drop, .region = region::headers, .rank = 0, .at_most = 1},
       fault({fault_code::timeout})},
      {"credit_of_the_previous_epoch",
       {.op = operation::publish, .what = effect::retag, .amount = 0xFFFFFFFF, .region = region::headers, .rank = 2},
       fault({fault_code::timeout})},
      // Places: outputs go where the origin asked for them.
      {"lost_return_row",
       {.op = operation::store, .what = effect::drop, .region = region::return_rows, .rank = 0},
       {{verdict::wrong_sum}, {fault_code::timeout}}},
      // Roles in ticket order (invariant 7).
      {"wait_roles_before_send_roles",
       {.op = operation::draw_ticket, .what = effect::reorder},
       fault({fault_code::timeout}),
       one_thread},
      // Views: rows of other tokens marked, counts told; a failed phase leaves nothing usable.
      {"padding_not_marked",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::topk_ids},
       seen({verdict::bad_padding})},
      {"counts_not_told",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::recv_counts},
       seen({verdict::wrong_count})},
      {"failed_dispatch_leaves_ids",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::topk_ids},
       seen({verdict::wrong_fault}),
       rank_2_skips_dispatch},
      {"failed_combine_leaves_output",
       {.op = operation::fill_nan, .what = effect::drop},
       seen({verdict::wrong_fault}),
       rank_2_skips_combine},
      // The sum: all rows, in order, rounded once.
      {"sum_in_reverse", {.op = operation::sum_rows, .what = effect::reorder}, seen({verdict::wrong_sum}), fp32_sums},
      {"sum_without_last_row", {.op = operation::sum_rows, .what = effect::drop}, seen({verdict::wrong_sum})},
      {"sum_rounded_after_each_row",
       {.op = operation::sum_rows, .what = effect::round_each},
       seen({verdict::wrong_sum})},
  };
}

class lamport_mutants : public testing::TestWithParam<mutant> {};

TEST_P(lamport_mutants, are_killed_with_the_right_verdict) { expect_killed(base_case(), GetParam()); }

TEST_P(lamport_mutants, have_a_shape_that_passes_without_the_mutation) { expect_pass_without(base_case(), GetParam()); }

// Not mutants but unlucky orders of events: a rank takes its rows very slowly, while its peers go on as far as its
// headers let them. Nothing may be stored over what it has not taken, and nothing that it re-arms may be lost.
TEST(slow_takers, lose_nothing) {
  for (const auto slow : {region::lamport_dispatch_inbox, region::lamport_combine_inbox}) {
    auto spec = base_case();
    spec.variation = step_variation::vary;
    spec.steps = 30;
    spec.timeout = spec.warmup_timeout = std::chrono::seconds(20);
    const auto plan = std::make_shared<injection::injector>(injection::mutation{
        .op = operation::rearm_word, .what = effect::delay, .amount = 20, .region = slow, .rank = 1});
    const auto result = run_with(spec, plan);
    EXPECT_GT(plan->matches(), 0U);
    EXPECT_EQ(result.status, case_status::pass) << told(result);
  }
}

INSTANTIATE_TEST_SUITE_P(all, lamport_mutants, testing::ValuesIn(all_mutants()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace switchyard::harness
