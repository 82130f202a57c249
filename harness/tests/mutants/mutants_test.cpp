// SPDX-License-Identifier: Apache-2.0
// Every invariant of the protocol is broken on purpose, and the right verdict must come of it.
//
// Mutants that change nothing that a correct observer could see (equivalent), and why:
// * Parity of header slots frozen (the step index never advances): seen only when a peer is a whole phase ahead while
//   this rank still looks at a chunk that holds none of that peer's rows, which no delay here brings about (decision
//   003).
// * Poison word never set after a fault: the elected-fault word and the notice, which every phase looks at as well, say
//   the same; three locks, one of which suffices on the host.
// * Header post turned relaxed: on the host fabric the publish and poll of the flags, and the collective end of the
//   phase, order the same accesses wherever rows flow; where none flow there is nothing to order but the run-ahead,
//   which x86 and the sanitizers see as the same store.
// * Ticket order changed while every role has a thread of its own: roles are live in any order then. With one thread it
//   is the mutant `wait_roles_before_send_roles` below.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "mutant.hpp"

namespace switchyard::harness {
namespace {

using injection::effect;
using injection::mutation;
using injection::operation;
using layout::region;

constexpr std::uint64_t previous_tag = 0xFFFFFFFF;  // added to a tag: one less

case_spec base_case() {
  auto spec = case_of_mutants("base");
  spec.invalid_percent = 10;
  spec.lamport = choice::off;  // lamport_mutants_test.cpp has those of the other transport
  return spec;
}

void one_thread(case_spec& spec) {
  spec.blocks = 1;
  spec.workers = 1;
}
void late_ranks(case_spec& spec) {
  spec.late.at_most = std::chrono::milliseconds(5);
  spec.steps = 12;
}
// The last chunk, which completes the header, takes long to send: a receiver that does not wait for it comes too early.
void long_rows(case_spec& spec) {
  late_ranks(spec);
  spec.params.max_tokens_per_rank = 96;
  spec.num_tokens = 96;
  spec.runtime_max_tokens = 96;
  spec.params.hidden_size = 16384;
}
// One rank and a full slice: what is written past the last row hits a guard, not a neighbour's row.
void full_slices(case_spec& spec) {
  spec.ep_size = 1;
  spec.num_tokens = 40;
  spec.invalid_percent = 0;
}
void mxfp8_rows(case_spec& spec) { spec.params.dispatch_format = dispatch_format::mxfp8; }
// Order is seldom visible in the sixteen bits of a bf16 result.
void fp32_sums(case_spec& spec) { spec.params.dtype = dtype::fp32; }
void rank_2_skips_second_dispatch(case_spec& spec) {
  spec.inject = injected_fault{.rank = 2, .step = 1, .phase = phase::dispatch};
  spec.expected_fault = fault_code::timeout;
}
void rank_2_skips_dispatch(case_spec& spec) {
  spec.inject = injected_fault{.rank = 2, .step = 0, .phase = phase::dispatch};
  spec.expected_fault = fault_code::timeout;
}
void rank_2_skips_combine(case_spec& spec) {
  spec.inject = injected_fault{.rank = 2, .step = 0, .phase = phase::combine};
  spec.expected_fault = fault_code::timeout;
}

constexpr std::uint64_t header_words = protocol::fixed_header_words + 2;  // of a capacity of 40 tokens

/// Byte offset in the headers region of a word of the header that `source` sends for `which` with parity 0.
std::uint64_t header_byte(phase which, std::uint64_t source, std::uint64_t word) {
  constexpr std::uint64_t ranks = 3;
  return ((static_cast<std::uint64_t>(which) * 2 * ranks + source) * header_words + word) * 8;
}

std::vector<mutant> all_mutants() {
  const std::set<verdict> gone{verdict::loss, verdict::stale};
  const auto seen = [](std::set<verdict> v) { return killed_by{std::move(v), {}}; };
  const auto fault = [](std::set<fault_code> f) { return killed_by{{}, std::move(f)}; };
  return {
      // Rows: every row is put once, whole, to its place at its rank, and is there before its flag (invariant 2).
      {"lost_row",
       {.op = operation::put,
        .what = effect::drop,
        .region = region::hidden_states,
        .rank = 0,
        .peer = 1,
        .at_most = 1},
       seen(gone)},
      {"lost_self_copy",
       {.op = operation::put, .what = effect::drop, .region = region::hidden_states, .to_self = true},
       seen(gone)},
      {"lost_ids",
       {.op = operation::put, .what = effect::drop, .region = region::topk_ids_inbox, .rank = 1},
       seen({verdict::loss, verdict::stale, verdict::corruption})},
      {"lost_weights",
       {.op = operation::put, .what = effect::drop, .region = region::topk_weights, .rank = 1},
       seen(gone)},
      {"row_off_by_one",
       {.op = operation::put, .what = effect::shift, .amount = 1, .region = region::hidden_states},
       seen({verdict::misplacement})},
      {"swapped_peers",
       {.op = operation::put, .what = effect::redirect, .amount = 1, .region = region::hidden_states},
       seen({verdict::misplacement})},
      {"scales_off_by_one",
       {.op = operation::put, .what = effect::shift, .amount = 1, .region = region::hidden_states_scale},
       seen({verdict::misplacement}),
       mxfp8_rows},
      {"row_without_last_byte",
       {.op = operation::put, .what = effect::shorten, .amount = 1, .region = region::hidden_states},
       seen({verdict::corruption})},
      {"row_with_one_byte_more",
       {.op = operation::put, .what = effect::lengthen, .amount = 1, .region = region::hidden_states},
       seen({verdict::overrun}),
       full_slices},
      {"flag_before_data",
       {.op = operation::put, .what = effect::defer, .amount = 3000, .region = region::hidden_states},
       seen(gone)},
      {"release_turned_relaxed",
       {.op = operation::put, .what = effect::defer, .amount = 3000, .rank = 0, .peer = 1, .skip_first = 7},
       seen({verdict::loss, verdict::stale, verdict::corruption, verdict::wrong_sum})},
      // Flags: raised once each, at the right peer, with the epoch, and awaited (invariants 1, 6).
      {"skipped_dispatch_flag",
       {.op = operation::publish, .what = effect::drop, .region = region::dispatch_flags, .rank = 0, .at_most = 1},
       fault({fault_code::timeout})},
      {"skipped_combine_flag",
       {.op = operation::publish, .what = effect::drop, .region = region::combine_flags, .rank = 0, .at_most = 1},
       fault({fault_code::timeout})},
      {"flag_at_another_peer",
       {.op = operation::publish, .what = effect::redirect, .amount = 1, .region = region::dispatch_flags, .peer = 2},
       fault({fault_code::timeout})},
      {"flag_of_the_previous_epoch",
       {.op = operation::publish, .what = effect::retag, .amount = previous_tag, .region = region::dispatch_flags},
       fault({fault_code::timeout})},
      {"stale_dispatch_flag_accepted",
       {.op = operation::poll_flag, .what = effect::retag, .region = region::dispatch_flags},
       seen({verdict::loss, verdict::stale, verdict::corruption}),
       long_rows},
      {"stale_combine_flag_accepted",
       {.op = operation::poll_flag, .what = effect::retag, .region = region::combine_flags},
       seen({verdict::wrong_sum}),
       late_ranks},
      {"nothing_is_awaited",
       {.op = operation::wait_all, .what = effect::drop},
       fault({fault_code::bad_header, fault_code::step_mismatch})},
      {"rows_not_awaited_in_dispatch",
       {.op = operation::wait_all, .what = effect::drop, .wait_for = awaited::rows},
       {{verdict::loss, verdict::stale, verdict::corruption, verdict::wrong_sum}, {}},
       long_rows},
      {"headers_not_awaited",
       {.op = operation::wait_all, .what = effect::drop, .wait_for = awaited::header},
       fault({fault_code::bad_header, fault_code::step_mismatch, fault_code::timeout}),
       late_ranks},
      // Deadlines (invariant 5).
      {"deadline_put_off",
       {.op = operation::wait_all, .what = effect::extend, .amount = 2'500'000, .wait_for = awaited::header},
       seen({verdict::wrong_fault}),
       rank_2_skips_dispatch},
      // Headers: one per peer and phase, tagged, in its slot, true to the routing (invariants 1, 6).
      {"lost_digest",
       {.op = operation::post,
        .what = effect::drop,
        .region = region::headers,
        .offset = header_byte(phase::dispatch, 0, 0),
        .peer = 1},
       fault({fault_code::timeout})},
      {"lost_bitmap_word",
       {.op = operation::post,
        .what = effect::drop,
        .region = region::headers,
        .offset = header_byte(phase::dispatch, 0, protocol::bitmap_word + 1),
        .peer = 1},
       fault({fault_code::timeout})},
      {"header_of_the_previous_epoch",
       {.op = operation::post, .what = effect::retag, .amount = previous_tag, .region = region::headers, .rank = 2},
       fault({fault_code::timeout})},
      {"header_in_the_slot_of_the_other_parity",
       {.op = operation::post,
        .what = effect::next_slot,
        .amount = 3 * header_words * 8,
        .region = region::headers,
        .rank = 0},
       fault({fault_code::timeout})},
      {"dispatch_header_in_the_combine_slot",
       {.op = operation::post,
        .what = effect::next_slot,
        .amount = 2 * 3 * header_words * 8,
        .region = region::headers,
        .rank = 0},
       fault({fault_code::order_mismatch})},
      {"stale_header_accepted",
       {.op = operation::poll, .what = effect::retag, .region = region::headers},
       fault({fault_code::bad_header, fault_code::step_mismatch}),
       late_ranks},
      {"digest_bit_flipped",
       {.op = operation::post,
        .what = effect::corrupt,
        .amount = 4,
        .region = region::headers,
        .offset = header_byte(phase::dispatch, 0, 0),
        .peer = 1},
       fault({fault_code::bad_header})},
      {"row_count_too_large",
       {.op = operation::post,
        .what = effect::corrupt,
        .amount = 32,
        .region = region::headers,
        .offset = header_byte(phase::dispatch, 0, 1),
        .peer = 1},
       fault({fault_code::bad_header})},
      {"routed_bit_flipped",
       {.op = operation::post,
        .what = effect::corrupt,
        .amount = 1,
        .region = region::headers,
        .offset = header_byte(phase::dispatch, 0, protocol::bitmap_word),
        .peer = 1},
       fault({fault_code::bad_header})},
      {"echoed_bit_flipped",
       {.op = operation::post,
        .what = effect::corrupt,
        .amount = 1,
        .region = region::headers,
        .offset = header_byte(phase::combine, 0, protocol::bitmap_word),
        .peer = 1},
       fault({fault_code::step_mismatch})},
      {"echoed_count_wrong",
       {.op = operation::post,
        .what = effect::corrupt,
        .amount = 1,
        .region = region::headers,
        .offset = header_byte(phase::combine, 0, 1),
        .peer = 1},
       fault({fault_code::step_mismatch})},
      // Round state: the epoch and the phase move on (invariant 1), roles come in ticket order (invariant 7).
      {"frozen_epoch",
       {.op = operation::store, .what = effect::drop, .region = region::round_state, .offset = 0},
       {{verdict::wrong_count, verdict::stale, verdict::loss},
        {fault_code::order_mismatch, fault_code::bad_header, fault_code::step_mismatch}},
       late_ranks},
      {"frozen_phase",
       {.op = operation::store, .what = effect::drop, .region = region::round_state, .offset = 4, .rank = 1},
       fault({fault_code::out_of_order})},
      {"sent_chunks_counted_on",
       {.op = operation::store, .what = effect::drop, .region = region::round_state, .offset = 516, .rank = 0},
       fault({fault_code::timeout})},
      {"wait_roles_before_send_roles",
       {.op = operation::draw_ticket, .what = effect::reorder},
       fault({fault_code::timeout}),
       one_thread},
      // Views: padding marked, counts told, ids moved out of the inbox; a failed phase leaves nothing usable.
      {"padding_not_marked",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::topk_ids},
       seen({verdict::bad_padding})},
      {"counts_not_told",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::recv_counts},
       seen({verdict::wrong_count})},
      {"ids_left_in_the_inbox",
       {.op = operation::copy_local, .what = effect::drop, .region = region::topk_ids},
       seen({verdict::loss, verdict::stale, verdict::corruption})},
      {"failed_dispatch_leaves_ids",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::topk_ids},
       seen({verdict::wrong_fault}),
       rank_2_skips_dispatch},
      {"failed_dispatch_leaves_counts",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::recv_counts, .skip_first = 9},
       seen({verdict::wrong_fault}),
       rank_2_skips_second_dispatch},
      {"failed_combine_leaves_output",
       {.op = operation::fill_nan, .what = effect::drop},
       seen({verdict::wrong_fault}),
       rank_2_skips_combine},
      // The sum: all rows, in order, rounded once.
      {"lost_output",
       {.op = operation::put, .what = effect::drop, .region = region::combine_inbox, .rank = 0},
       seen({verdict::wrong_sum, verdict::loss, verdict::stale})},
      {"output_off_by_one",
       {.op = operation::put, .what = effect::shift, .amount = 1, .region = region::combine_inbox},
       seen({verdict::wrong_sum})},
      {"output_at_another_peer",
       {.op = operation::put, .what = effect::redirect, .amount = 1, .region = region::combine_inbox},
       seen({verdict::wrong_sum})},
      {"combine_flag_before_data",
       {.op = operation::put, .what = effect::defer, .amount = 3000, .region = region::combine_inbox},
       seen({verdict::wrong_sum})},
      {"lost_return_row",
       {.op = operation::put_u32, .what = effect::drop, .region = region::return_rows, .rank = 0},
       seen({verdict::wrong_sum})},
      {"wrong_return_row",
       {.op = operation::put_u32, .what = effect::corrupt, .amount = 1, .region = region::return_rows},
       seen({verdict::wrong_sum})},
      {"sum_in_reverse", {.op = operation::sum_rows, .what = effect::reorder}, seen({verdict::wrong_sum}), fp32_sums},
      {"sum_without_last_row", {.op = operation::sum_rows, .what = effect::drop}, seen({verdict::wrong_sum})},
      {"sum_rounded_after_each_row",
       {.op = operation::sum_rows, .what = effect::round_each},
       seen({verdict::wrong_sum})},
  };
}

class mutants : public testing::TestWithParam<mutant> {};

TEST_P(mutants, are_killed_with_the_right_verdict) { expect_killed(base_case(), GetParam()); }

// The same cases without the mutation pass: it is the mutation that is found, not the case.
TEST_P(mutants, have_a_shape_that_passes_without_the_mutation) { expect_pass_without(base_case(), GetParam()); }

// Not a mutant but an unlucky order of events: rank 0 is slow to send rank 2 its outputs, while rank 1, which has all
// of its own, goes on to a step of another T. Nothing that rank 0 has still to send may change its place by that.
TEST(slow_outputs, keep_their_places_while_a_peer_is_a_step_ahead) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto spec = base_case();
    spec.variation = step_variation::vary;
    spec.steps = 8;
    spec.blocks = 3;  // the others send to rank 1 meanwhile
    spec.workers = 3;
    spec.timeout = spec.warmup_timeout = std::chrono::seconds(20);
    const auto plan = std::make_shared<injection::injector>(mutation{.op = operation::put,
                                                                     .what = effect::delay,
                                                                     .amount = 2000,
                                                                     .region = region::combine_inbox,
                                                                     .rank = 0,
                                                                     .peer = 2});
    arena memory(required_bytes(spec));
    run_options options;
    options.seed = seed;
    options.make_fabric = [&](int) { return injection::make_injecting_host_fabric(plan); };
    const auto result = run_case(spec, memory, options);
    EXPECT_GT(plan->matches(), 0U);
    EXPECT_EQ(result.status, case_status::pass) << "seed " << seed << ": " << told(result);
  }
}

INSTANTIATE_TEST_SUITE_P(all, mutants, testing::ValuesIn(all_mutants()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace switchyard::harness
