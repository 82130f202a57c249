// SPDX-License-Identifier: Apache-2.0
// What rank masks rest on is broken on purpose. That nothing at all is stored at a rank that is off, which no rank can
// see, is rank_mask.nothing_is_stored_into_the_workspace_of_a_rank_that_is_off of the library's tests.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "mutant.hpp"

namespace switchyard::harness {
namespace {

using injection::effect;
using injection::operation;
using layout::rank_mask_words;
using layout::region;

case_spec base_case() {
  auto spec = case_of_mutants("masks");
  spec.enable_rank_mask = true;
  spec.masked_from = step_counts::parse("9:9:2");  // rank 2, after two steps in which it has sent rows
  return spec;
}

void rank_1_masks_off_another(case_spec& spec) {
  spec.masked_from.reset();
  spec.inject = injected_fault{.rank = 1, .step = 0, .kind = fault_kind::disagree, .field = step_field::rank_mask};
  spec.expected_fault = fault_code::mask_changed;
}
std::vector<mutant> all_mutants() {
  const auto seen = [](verdict v) { return killed_by{{v}, {}}; };
  const auto fault = [](fault_code f) { return killed_by{{}, {f}}; };
  constexpr std::uint64_t row_bytes = 40 * 3 * 4;  // of the ids of a source
  constexpr std::uint64_t mask_word_at = 8 * static_cast<std::uint64_t>(protocol::header_word::rank_mask);
  constexpr std::uint64_t rank_1 = (protocol::fixed_header_words + 2) * 8;
  return {
      // Combine goes by what its dispatch found: else it waits for who has left.
      {"mask_not_latched",
       {.op = operation::store,
        .what = effect::drop,
        .region = region::rank_mask,
        .offset = offsetof(rank_mask_words, latched)},
       fault(fault_code::timeout)},
      {"latched_mask_misread",
       {.op = operation::poll, .what = effect::corrupt, .amount = 1, .region = region::rank_mask, .rank = 1},
       fault(fault_code::bad_mask)},
      // The slice of a rank that is off: padding, and a count of 0.
      {"slice_not_padded",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::topk_ids, .offset = 2 * row_bytes},
       seen(verdict::bad_padding)},
      {"count_of_before_left",
       {.op = operation::fill_i32, .what = effect::drop, .region = region::recv_counts, .offset = 8, .skip_first = 6},
       seen(verdict::wrong_count)},
      // Dropped routes are those of one step.
      {"dropped_routes_of_before_left",
       {.op = operation::store,
        .what = effect::drop,
        .region = region::rank_mask,
        .offset = offsetof(rank_mask_words, dropped_routes)},
       seen(verdict::wrong_count)},
      // Masks that differ.
      {"mask_not_told",
       {.op = operation::post, .what = effect::drop, .region = region::headers, .offset = rank_1 + mask_word_at},
       seen(verdict::wrong_fault),
       rank_1_masks_off_another},
      {"mask_told_wrongly",
       {.op = operation::post,
        .what = effect::corrupt,
        .amount = 8,
        .region = region::headers,
        .offset = rank_1 + mask_word_at},
       seen(verdict::wrong_fault),
       rank_1_masks_off_another},
  };
}

class mask_mutants : public testing::TestWithParam<mutant> {};

TEST_P(mask_mutants, are_killed_by_fence) {
  auto spec = base_case();
  spec.lamport = choice::off;
  expect_killed(spec, GetParam());
}
TEST_P(mask_mutants, are_killed_by_lamport) {
  auto one = GetParam();
  // There each worker marks the rows that it finds to hold nothing.
  if (one.name == "slice_not_padded") one.plan = {.op = operation::store, .region = region::topk_ids};
  expect_killed(base_case(), one);
}
TEST_P(mask_mutants, have_a_shape_that_passes_without_the_mutation) { expect_pass_without(base_case(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(masks, mask_mutants, testing::ValuesIn(all_mutants()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace switchyard::harness
