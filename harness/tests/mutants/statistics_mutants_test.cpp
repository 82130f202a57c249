// SPDX-License-Identifier: Apache-2.0
// What gathered statistics rest on is broken on purpose.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mutant.hpp"

namespace switchyard::harness {
namespace {

using injection::effect;
using injection::mutation;
using injection::operation;
using layout::region;

constexpr std::int64_t num_experts = 9;

case_spec base_case() {
  auto spec = case_of_mutants("statistics");
  spec.eplb_stats = num_experts;
  return spec;
}

void rank_2_leaves(case_spec& spec) {
  spec.enable_rank_mask = true;
  spec.masked_from = step_counts::parse("9:9:2");
}

std::vector<mutant> all_mutants() {
  const auto seen = [](std::set<verdict> v) { return killed_by{std::move(v), {}}; };
  const auto fault = [](fault_code f) { return killed_by{{}, {f}}; };
  constexpr std::uint64_t slot = 8 * static_cast<std::uint64_t>(num_experts);
  constexpr std::uint64_t view_row = 4 * static_cast<std::uint64_t>(num_experts);
  const mutation late{
      .op = operation::post, .what = effect::delay, .amount = 3000, .region = region::eplb_inbox, .rank = 1};
  return {
      // The tag is what tells a word of this step from one of a step before (invariant 1).
      {"tag_not_looked_at",
       {.op = operation::poll, .what = effect::retag, .region = region::eplb_inbox},
       seen({verdict::stale, verdict::wrong_count}),
       [](case_spec&) {},
       late},
      {"tag_of_the_next_phase",
       {.op = operation::post, .what = effect::retag, .amount = 1, .region = region::eplb_inbox, .rank = 1},
       fault(fault_code::timeout)},
      {"word_lost",
       {.op = operation::post, .what = effect::drop, .region = region::eplb_inbox, .rank = 2, .peer = 0, .at_most = 1},
       fault(fault_code::timeout)},
      {"number_changed",
       {.op = operation::post, .what = effect::corrupt, .amount = 1, .region = region::eplb_inbox, .rank = 1},
       seen({verdict::wrong_count})},
      {"at_another_rank",
       {.op = operation::post, .what = effect::redirect, .amount = 1, .region = region::eplb_inbox, .peer = 1},
       fault(fault_code::timeout)},
      {"in_the_slot_of_another_source",
       {.op = operation::post, .what = effect::next_slot, .amount = slot, .region = region::eplb_inbox, .rank = 0},
       fault(fault_code::timeout)},
      {"not_awaited",
       {.op = operation::wait_all, .what = effect::drop, .wait_for = awaited::statistics},
       seen({verdict::loss})},
      {"not_copied_into_the_view",
       {.op = operation::store, .what = effect::drop, .region = region::eplb_stats},
       seen({verdict::loss, verdict::wrong_count})},
      {"row_of_a_rank_that_is_off_left",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::eplb_stats, .offset = 2 * view_row},
       seen({verdict::loss, verdict::stale, verdict::wrong_count}),
       rank_2_leaves},
  };
}

class statistics_mutants : public testing::TestWithParam<mutant> {};

TEST_P(statistics_mutants, are_killed_by_fence) {
  auto spec = base_case();
  spec.lamport = choice::off;
  expect_killed(spec, GetParam());
}
TEST_P(statistics_mutants, are_killed_by_lamport) { expect_killed(base_case(), GetParam()); }
TEST_P(statistics_mutants, have_a_shape_that_passes_without_the_mutation) {
  expect_pass_without(base_case(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(statistics, statistics_mutants, testing::ValuesIn(all_mutants()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace switchyard::harness
