// SPDX-License-Identifier: Apache-2.0
// The invariants of Lamport steps, each broken on purpose. What both transports share is in mutants_test.cpp.
//
// Mutants that change nothing that an observer on the host fabric sees, but once in a blue moon, and why:
// * Credit granted without its release: on the host fabric every store of a header's words is released, and orders the
//   same stores. The credit is for machines whose post hands over reads alone.
// * Readiness ignored in dispatch, or rows of its inbox not re-armed: the one thread of a block of the host fabric
// tells
//   a receiver of a token right before it stores the token's words, and a receiver takes no word before it was told, so
//   that it would have to look in between. Tests of the library look for words that were not re-armed; two combines
//   below cannot do without.
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
  auto spec = case_of_mutants("lamport");
  spec.invalid_percent = 10;
  return spec;
}

void one_thread(case_spec& spec) {
  spec.blocks = 1;
  spec.workers = 1;
}
void blocks_one_after_another(case_spec& spec) {
  spec.blocks = 3;
  spec.workers = 1;
}
// So that whoever does not wait, or re-arms too late, meets a peer that is ahead.
void late_ranks(case_spec& spec) {
  spec.late.at_most = std::chrono::milliseconds(5);
  spec.steps = 12;
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
      {"lost_word_about_a_stand_in",
       {.op = operation::list_exception, .what = effect::drop, .at_most = 1},
       fault({fault_code::timeout}),
       hard_words},
      {"views_not_filled",
       {.op = operation::store_unit, .what = effect::drop, .region = region::hidden_states, .at_most = 1},
       seen(wrong_rows)},
      {"ids_not_stored",
       {.op = operation::store_unit, .what = effect::drop, .region = region::topk_ids, .at_most = 1},
       seen(wrong_rows)},
      {"output_not_stored",
       {.op = operation::store_unit, .what = effect::drop, .skip_first = 400, .at_most = 100},
       {{verdict::loss, verdict::stale, verdict::corruption, verdict::misplacement, verdict::wrong_sum}, {}}},
      // Readiness: nothing is taken before it has come (invariant 9).
      {"stale_presence_accepted",
       {.op = operation::poll, .what = effect::retag, .region = region::lamport_presence},
       {{verdict::loss, verdict::stale, verdict::corruption, verdict::misplacement, verdict::wrong_count,
         verdict::bad_padding, verdict::wrong_sum},
        {fault_code::timeout}},
       late_ranks},
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
       {{verdict::wrong_count}, {fault_code::bad_header, fault_code::step_mismatch, fault_code::timeout}},
       late_ranks},
      {"stale_header_accepted",
       {.op = operation::poll, .what = effect::retag, .region = region::headers},
       fault({fault_code::bad_header, fault_code::step_mismatch}),
       late_ranks},
      // Re-arming: every word that was taken, no other, and before the credit (invariant 3).
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
       {.op = operation::publish, .what = effect::drop, .region = region::lamport_credits, .rank = 0, .at_most = 1},
       fault({fault_code::timeout})},
      {"credit_of_the_previous_epoch",
       {.op = operation::publish,
        .what = effect::retag,
        .amount = 0xFFFFFFFF,
        .region = region::lamport_credits,
        .rank = 2},
       fault({fault_code::timeout})},
      // Places: outputs go where the origin asked for them.
      {"slot_told_wrongly",
       {.op = operation::post, .what = effect::corrupt, .amount = 3, .region = region::lamport_presence, .peer = 1},
       {{verdict::wrong_sum}, {fault_code::timeout}}},
      // Whoever waits sends for blocks that have not come (invariant 7).
      {"nobody_sends_for_others",
       {.op = operation::claim, .what = effect::drop},
       fault({fault_code::timeout}),
       blocks_one_after_another},
      // Views: rows of other tokens marked, counts told; a failed phase leaves nothing usable.
      {"padding_not_marked",
       {.op = operation::store, .what = effect::drop, .region = region::topk_ids},
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
