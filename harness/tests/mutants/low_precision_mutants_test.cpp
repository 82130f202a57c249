// SPDX-License-Identifier: Apache-2.0
// What a combine in low precision rests on is broken on purpose, by either transport. That its arithmetic is the golden
// model's is for agreement_test.cpp to show.
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

case_spec base_case(choice lamport) {
  auto spec = case_of_mutants("low_precision");
  spec.params.hidden_size = 300;  // three blocks, the last one short
  spec.low_precision_combine = low_precision::fp8_block_scaled;
  spec.lamport = lamport;
  return spec;
}

void fp32_sums(case_spec& spec) { spec.params.dtype = dtype::fp32; }
void one_source_at_home(case_spec& spec) {
  spec.params.top_k = 1;
  spec.routing = routing_law::local;
}
void patient(case_spec& spec) { spec.timeout = spec.warmup_timeout = std::chrono::seconds(10); }

const std::set<verdict> wrong_output{verdict::wrong_sum, verdict::stale, verdict::misplacement, verdict::loss};
killed_by seen(verdict v) { return {{v}, {}}; }

std::vector<mutant> fence_mutants() {
  return {
      {"row_not_sent", {.op = operation::quantise, .what = effect::drop, .at_most = 3}, {wrong_output, {}}},
      {"bit_of_an_element_flipped",
       {.op = operation::quantise, .what = effect::corrupt, .amount = 8, .at_most = 20},
       seen(verdict::wrong_sum)},
      {"scale_of_the_next_block",
       {.op = operation::quantise, .what = effect::next_scale, .at_most = 20},
       seen(verdict::wrong_sum)},
      {"own_row_not_quantised",
       {.op = operation::sum_rows, .what = effect::as_is, .at_most = 1},
       seen(verdict::wrong_sum),
       one_source_at_home},
      {"sum_in_reverse", {.op = operation::sum_rows, .what = effect::reorder}, seen(verdict::wrong_sum), fp32_sums},
      {"sum_without_last_row", {.op = operation::sum_rows, .what = effect::drop}, seen(verdict::wrong_sum)},
  };
}

std::vector<mutant> lamport_mutants() {
  constexpr auto inbox = region::lamport_combine_inbox;
  const killed_by missed{{}, {fault_code::timeout}};
  // Scales come last, and late.
  const injection::mutation late_scales{.op = operation::post, .what = effect::delay, .amount = 300, .region = inbox};
  return {
      // Every time: of rows that go nowhere, and of units that are not the first of their block, no scale is sent.
      {"scale_of_the_next_block", {.op = operation::quantise, .what = effect::next_scale}, seen(verdict::wrong_sum)},
      {"bit_of_an_element_flipped",
       {.op = operation::quantise, .what = effect::corrupt, .amount = 8},
       seen(verdict::wrong_sum)},
      {"scale_not_sent", {.op = operation::post, .what = effect::drop, .region = inbox, .at_most = 1}, missed},
      {"scale_of_another_phase",
       {.op = operation::post, .what = effect::retag, .amount = 0xFFFFFFFF, .region = inbox, .at_most = 1},
       missed},
      {"scale_in_the_place_of_another",
       {.op = operation::post, .what = effect::next_slot, .amount = 8, .region = inbox, .at_most = 1},
       {{verdict::wrong_sum}, {fault_code::timeout}}},
      {"bit_of_a_scale_flipped",
       {.op = operation::post, .what = effect::corrupt, .amount = 1U << 23, .region = inbox, .at_most = 20},
       seen(verdict::wrong_sum)},
      {"stale_scale_accepted",
       {.op = operation::poll, .what = effect::retag, .region = inbox},
       {wrong_output, {}},
       patient,
       late_scales},
      {"unit_not_rearmed", {.op = operation::rearm_word, .what = effect::drop, .region = inbox}, {wrong_output, {}}},
      {"sum_in_reverse", {.op = operation::sum_rows, .what = effect::reorder}, seen(verdict::wrong_sum), fp32_sums},
      {"sum_without_last_row", {.op = operation::sum_rows, .what = effect::drop}, seen(verdict::wrong_sum)},
      {"output_not_stored",
       {.op = operation::store_unit, .what = effect::drop, .skip_first = 400, .at_most = 100},
       {{verdict::loss, verdict::stale, verdict::corruption, verdict::misplacement, verdict::wrong_sum,
         verdict::bad_padding},
        {}}},
  };
}

class low_precision_fence_mutants : public testing::TestWithParam<mutant> {};
TEST_P(low_precision_fence_mutants, are_killed_with_the_right_verdict) {
  expect_killed(base_case(choice::off), GetParam());
}
TEST_P(low_precision_fence_mutants, have_a_shape_that_passes_without_the_mutation) {
  expect_pass_without(base_case(choice::off), GetParam());
}
INSTANTIATE_TEST_SUITE_P(all, low_precision_fence_mutants, testing::ValuesIn(fence_mutants()),
                         [](const auto& one) { return one.param.name; });

class low_precision_lamport_mutants : public testing::TestWithParam<mutant> {};
TEST_P(low_precision_lamport_mutants, are_killed_with_the_right_verdict) {
  expect_killed(base_case(choice::on), GetParam());
}
TEST_P(low_precision_lamport_mutants, have_a_shape_that_passes_without_the_mutation) {
  expect_pass_without(base_case(choice::on), GetParam());
}
INSTANTIATE_TEST_SUITE_P(all, low_precision_lamport_mutants, testing::ValuesIn(lamport_mutants()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace switchyard::harness
