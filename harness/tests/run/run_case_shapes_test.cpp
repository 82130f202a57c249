// SPDX-License-Identifier: Apache-2.0
// Whole cases with uneven ranks, odd rows and odd values, and ranks that disagree on T.
#include <gtest/gtest.h>

#include <string>

#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

case_spec counted_case(const std::string& counts, int steps) {
  auto spec = small_case(4);
  spec.token_counts = step_counts::parse(counts).value();
  spec.num_tokens = spec.token_counts->largest();
  spec.runtime_max_tokens.reset();
  spec.params.max_tokens_per_rank = 40;
  spec.steps = steps;
  return spec;
}

TEST(run_case_shapes, every_law_passes) {
  for (const auto law : all_routing_laws) {
    if (law == routing_law::trace) continue;
    auto spec = small_case(3);
    spec.routing = law;
    spec.law.expert_groups = 3;
    spec.law.groups_per_token = 2;
    spec.duplicate_percent = 20;
    const auto result = run_on_host(spec);
    EXPECT_EQ(result.status, case_status::pass) << to_string(law) << ": " << explain(result);
  }
}

TEST(run_case_shapes, local_routing_crosses_no_link_and_remote_routing_does) {
  auto spec = small_case(3);
  spec.routing = routing_law::local;
  EXPECT_EQ(run_on_host(spec).remote_bytes, 0U);
  spec.routing = routing_law::remote;
  EXPECT_GT(run_on_host(spec).remote_bytes, 0U);
}

TEST(run_case_shapes, b01_ranks_without_tokens) {
  auto spec = counted_case("0:32:32:32/32:0:0:0/0:0:0:0/32", 8);
  const auto result = run_on_host(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.times.size(), 8U);
  spec = small_case(4);
  for (const int empty : {1, 4, 9}) {
    spec.empty_ranks = empty;
    EXPECT_EQ(run_on_host(spec).status, case_status::pass) << empty;
  }
  EXPECT_EQ(run_on_host(spec).remote_bytes, 0U);  // nobody has tokens
}

TEST(run_case_shapes, b03_padding_rows_and_b07_changing_counts) {
  auto spec = counted_case("32/8/32", 6);
  spec.padding_rows = step_counts::parse("0:16:16:16").value();
  for (const auto rule : {runtime_max_rule::tokens, runtime_max_rule::capacity, runtime_max_rule::drawn}) {
    spec.runtime_max_tokens_from = rule;
    const auto result = run_on_host(spec);
    EXPECT_EQ(result.status, case_status::pass) << to_string(rule) << ": " << explain(result);
  }
}

TEST(run_case_shapes, all_values_and_identity_experts_pass) {
  for (const auto values : all_hidden_values) {
    for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
      auto spec = small_case(3);
      spec.params.dtype = type;
      spec.values = values;
      spec.experts = reference::expert_law::identity;
      const auto result = run_on_host(spec);
      EXPECT_EQ(result.status, case_status::pass) << to_string(values) << ": " << explain(result);
    }
  }
}

TEST(run_case_shapes, one_rank_that_is_always_late) {
  auto spec = small_case(3);
  spec.late = {200us, 1};
  EXPECT_EQ(run_on_host(spec).status, case_status::pass);
}

case_spec disagreeing_case(const std::string& counts) {
  auto spec = counted_case(counts, 4);
  spec.runtime_max_tokens_from = runtime_max_rule::own_tokens;
  spec.expected_fault = fault_code::step_mismatch;
  return spec;
}

TEST(run_case_shapes, b21_ranks_disagree_on_the_maximum_token_count) {
  // Steps 0 and 1 agree: all have 8, and a rank with no token passes 1 as one with one token does.
  const auto result = run_on_host(disagreeing_case("8/0:1:1:0/5:17:3:32/8"));
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  ASSERT_EQ(result.faults.size(), 4U);
  for (const auto& fault : result.faults) {
    EXPECT_EQ(fault.record.code, fault_code::step_mismatch);
    EXPECT_EQ(fault.record.field, step_field::runtime_max_tokens_per_rank);
  }
  // A rank that was still summing step 1 when the others met in step 2 learns of it there.
  EXPECT_GE(result.times.size(), 1U);
  EXPECT_LE(result.times.size(), 2U);
}

TEST(run_case_shapes, a_disagreement_that_is_not_due_or_does_not_come_fails) {
  auto spec = disagreeing_case("5:17:3:32");
  spec.expected_fault = fault_code::none;
  EXPECT_EQ(run_on_host(spec).status, case_status::fail);
  const auto agreed = run_on_host(disagreeing_case("8"));
  EXPECT_EQ(agreed.status, case_status::fail);
  EXPECT_EQ(agreed.total_findings, 4U);
}

}  // namespace
}  // namespace switchyard::harness
