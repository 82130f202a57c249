// SPDX-License-Identifier: Apache-2.0
// Whole cases on the host fabric, with the library as it is.
#include "switchyard/harness/run_case.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "small_case.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

case_result run_small(const case_spec& spec, std::uint64_t seed = 1) {
  arena memory(required_bytes(spec));
  run_options options;
  options.seed = seed;
  auto result = run_case(spec, memory, options);
  EXPECT_EQ(memory.used(), 0U);
  return result;
}

TEST(run_case, a_case_of_graphs_is_skipped_where_there_are_none) {
  for (const auto launch : {launch_mode::graph, launch_mode::two_graphs, launch_mode::mixed}) {
    auto spec = small_case(2);
    spec.launch = launch;
    const auto result = run_small(spec);
    EXPECT_EQ(result.status, case_status::skipped);
    EXPECT_EQ(result.reason, "launch " + std::string(to_string(launch)) + ": only the cuda fabric has graphs");
    EXPECT_EQ(result.checked_bytes, 0U);
  }
}

TEST(run_case, low_precision_is_exact_and_its_error_recorded) {
  for (const auto lamport : {choice::off, choice::automatic}) {
    auto spec = small_case(3);
    spec.params.hidden_size = 300;
    spec.lamport = lamport;
    const auto usual = run_small(spec);
    EXPECT_FALSE(usual.low_precision_error);
    const std::uint64_t returned_rows = usual.returned_bytes / 600;
    EXPECT_EQ(usual.returned_bytes, returned_rows * 600);
    std::vector<double> rms;
    for (const auto format : {low_precision::fp8, low_precision::fp8_block_scaled}) {
      spec.low_precision_combine = format;
      const auto result = run_small(spec);
      ASSERT_EQ(result.status, case_status::pass) << explain(result);
      EXPECT_EQ(result.returned_bytes, returned_rows * (format == low_precision::fp8 ? 300 : 312));
      EXPECT_NE(result.results_digest, usual.results_digest);
      ASSERT_TRUE(result.low_precision_error);
      EXPECT_EQ(result.low_precision_error->elements + result.low_precision_error->left_out, 4U * 3 * 9 * 300);
      EXPECT_GT(result.low_precision_error->max_relative, result.low_precision_error->mean_relative);
      rms.push_back(result.low_precision_error->rms_relative);
    }
    // One row in 64 is any bits, far beyond 448: what a scale spans and e4m3 alone does not.
    EXPECT_GT(rms[1], 0);
    EXPECT_LT(rms[1], rms[0]);
  }
}

struct group_shape {
  int ep_size;
  int blocks;
  int workers;
};

class run_case_shapes : public testing::TestWithParam<group_shape> {};

TEST_P(run_case_shapes, fixed_steps_pass) {
  auto spec = small_case(GetParam().ep_size);
  spec.blocks = GetParam().blocks;
  spec.workers = GetParam().workers;
  for (const auto lamport : {choice::off, choice::automatic}) {
    spec.lamport = lamport;
    const auto result = run_small(spec);
    EXPECT_EQ(result.status, case_status::pass) << explain(result);
    EXPECT_TRUE(result.reason.empty());
    EXPECT_EQ(result.times.size(), 4U);
    EXPECT_GT(result.checked_bytes, 0U);
    EXPECT_EQ(result.remote_bytes > 0, spec.ep_size > 1);
    EXPECT_EQ(result.transport, lamport == choice::off ? "fence" : "lamport");
  }
}

TEST(run_case_transports, steps_that_alternate_say_so) {
  auto spec = small_case(3);
  spec.token_counts = step_counts::parse("3/5");
  spec.num_tokens = 5;
  spec.runtime_max_tokens.reset();
  spec.lamport_max_tokens = 4;
  const auto result = run_small(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.transport, "fence+lamport");
}

TEST_P(run_case_shapes, varying_steps_pass_with_a_late_rank) {
  auto spec = small_case(GetParam().ep_size);
  spec.blocks = GetParam().blocks;
  spec.workers = GetParam().workers;
  spec.variation = step_variation::vary;
  spec.steps = 40;
  spec.late.at_most = 300us;
  spec.first_epoch = 4294967291;  // wraps round within the case
  const auto result = run_small(spec, 7);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.times.size(), 40U);
}

INSTANTIATE_TEST_SUITE_P(groups, run_case_shapes,
                         testing::Values(group_shape{1, 1, 1}, group_shape{1, 3, 3}, group_shape{2, 1, 1},
                                         group_shape{2, 3, 3}, group_shape{3, 3, 1}, group_shape{5, 1, 1},
                                         group_shape{5, 3, 2}, group_shape{8, 1, 1}, group_shape{8, 3, 3}),
                         [](const auto& given) {
                           return "ranks" + std::to_string(given.param.ep_size) + "_blocks" +
                                  std::to_string(given.param.blocks) + "_workers" + std::to_string(given.param.workers);
                         });

TEST(run_case_test, no_tokens_at_all) {
  auto spec = small_case(3);
  spec.num_tokens = 0;
  spec.runtime_max_tokens.reset();
  const auto result = run_small(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
  EXPECT_EQ(result.remote_bytes, 0U);
}

TEST(run_case_test, every_dtype_and_format) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    auto spec = small_case(3);
    spec.params.dtype = type;
    const auto result = run_small(spec);
    EXPECT_EQ(result.status, case_status::pass) << to_string(type) << " " << explain(result);
  }
  for (const auto format :
       {dispatch_format::bf16, dispatch_format::fp16, dispatch_format::fp8, dispatch_format::fp8_block128,
        dispatch_format::mxfp8, dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    auto spec = small_case(3);
    spec.params.dispatch_format = format;
    const auto result = run_small(spec);
    EXPECT_EQ(result.status, case_status::pass) << to_string(format) << " " << explain(result);
  }
}

TEST(run_case_test, balanced_routing_and_invalid_ids) {
  auto spec = small_case(4);
  spec.routing = routing_law::balanced;
  spec.invalid_percent = 40;
  const auto result = run_small(spec);
  EXPECT_EQ(result.status, case_status::pass) << explain(result);
}

TEST(run_case_test, the_same_seed_gives_the_same_numbers) {
  auto spec = small_case(3);
  spec.variation = step_variation::vary;
  const auto first = run_small(spec, 5);
  const auto again = run_small(spec, 5);
  const auto other = run_small(spec, 6);
  EXPECT_EQ(first.checked_bytes, again.checked_bytes);
  EXPECT_EQ(first.remote_bytes, again.remote_bytes);
  EXPECT_EQ(first.wire_bytes_max_rank, again.wire_bytes_max_rank);
  EXPECT_NE(first.checked_bytes, other.checked_bytes);
}

TEST(run_case_test, bytes_are_those_of_the_routing) {
  auto spec = small_case(2);
  spec.params.num_experts = 4;  // top-4 of 4: every token goes to both ranks
  spec.params.top_k = 4;
  spec.steps = 3;
  const auto result = run_small(spec);
  ASSERT_EQ(result.status, case_status::pass) << explain(result);
  const std::uint64_t row = 24 * 2 + 20;  // hidden states and extra
  EXPECT_EQ(result.remote_bytes, 3 * 2 * 9 * row);
  EXPECT_EQ(result.wire_bytes_max_rank, 9 * row);
  const std::uint64_t rows = 3 * 2 * 18;  // steps, ranks, received rows
  const std::uint64_t padding_rows = 3 * 2 * (22 - 18);
  const std::uint64_t outputs = 3 * 2 * 9 * 48;
  const std::uint64_t counts = 3 * 2 * 2 * 4;
  EXPECT_EQ(result.checked_bytes, rows * (row + 16 + 16) + padding_rows * 16 + outputs + counts);
}

TEST(run_case_test, a_broken_rule_is_a_failed_case_with_its_reason) {
  arena memory(small_arena_bytes);
  auto spec = small_case(2);
  spec.num_tokens = 13;
  auto result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_NE(result.reason.find("num_tokens is 13"), std::string::npos) << result.reason;
  spec = small_case(2);
  spec.params.top_k = 11;  // of 10 experts
  result = run_case(spec, memory, {});
  EXPECT_EQ(result.status, case_status::fail);
  EXPECT_NE(result.reason.find("top_k"), std::string::npos) << result.reason;
}

TEST(run_case_test, an_arena_too_small_is_refused) {
  const auto spec = small_case(2);
  arena memory(required_bytes(spec) / 2);
  EXPECT_THROW(run_case(spec, memory, {}), out_of_memory);
}

}  // namespace
}  // namespace switchyard::harness
