// SPDX-License-Identifier: Apache-2.0
// What ranks declare, and in what the one that disagrees differs.
#include "switchyard/harness/declared_step.hpp"

#include <gtest/gtest.h>

#include "small_case.hpp"

namespace switchyard::harness {
namespace {

case_spec with_disagreement(step_field field) {
  auto spec = small_case(3);
  spec.params.hidden_size = 128;
  spec.params.dispatch_format = dispatch_format::mxfp8;
  spec.eplb_stats = 7;
  spec.inject = injected_fault{1, 2, phase::dispatch, fault_kind::disagree, field};
  return spec;
}

std::uint64_t declared_value(step_field field, int step, int rank) {
  const auto spec = with_disagreement(field);
  return value_of(declared_by(spec, make_step_plan(spec, 1, step), rank), field);
}

struct odd_value {
  step_field field;
  std::uint64_t usual;
  std::uint64_t odd;
};

TEST(declared_step_test, one_rank_differs_in_one_field_of_one_step) {
  for (const auto& [field, usual, odd] :
       {odd_value{step_field::runtime_max_tokens_per_rank, 11, 12}, odd_value{step_field::payload_set, 31, 27},
        odd_value{step_field::hidden_states_row_bytes, 128, 124}, odd_value{step_field::topk_weights_row_bytes, 16, 12},
        odd_value{step_field::hidden_states_scale_row_bytes, 4, 3}, odd_value{step_field::extra_row_bytes, 20, 16},
        odd_value{step_field::eplb_stats_length, 7, 6}, odd_value{step_field::combine_hidden_size, 128, 127},
        odd_value{step_field::combine_dtype, static_cast<std::uint64_t>(dtype::bf16),
                  static_cast<std::uint64_t>(dtype::fp16)}}) {
    EXPECT_EQ(declared_value(field, 2, 1), odd) << to_string(field);
    EXPECT_EQ(declared_value(field, 2, 0), usual) << to_string(field);
    EXPECT_EQ(declared_value(field, 1, 1), usual) << to_string(field);
  }
}

TEST(declared_step_test, a_rank_that_does_not_declare_the_weights_gives_them_no_width) {
  const auto spec = with_disagreement(step_field::payload_set);
  const auto declared = declared_by(spec, make_step_plan(spec, 1, 2), 1);
  EXPECT_EQ(value_of(declared, step_field::topk_weights_row_bytes), 0U);
  EXPECT_EQ(value_of(declared, step_field::extra_row_bytes), 20U);
}

TEST(declared_step_test, a_larger_stride_has_room) {
  const auto spec = with_disagreement(step_field::runtime_max_tokens_per_rank);
  EXPECT_EQ(largest_tokens_per_rank(spec), 12);
}

}  // namespace
}  // namespace switchyard::harness
