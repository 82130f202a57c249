// SPDX-License-Identifier: Apache-2.0
// What a dry run forecasts is what a run moves.
#include "switchyard/harness/traffic_forecast.hpp"

#include <gtest/gtest.h>

#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

TEST(traffic_forecast, is_what_a_run_moves) {
  for (const auto variation : {step_variation::fixed, step_variation::vary}) {
    for (const auto law : {routing_law::uniform, routing_law::balanced}) {
      auto spec = small_case(3);
      spec.variation = variation;
      spec.routing = law;
      spec.invalid_percent = 20;
      if (law == routing_law::balanced) spec.low_precision_combine = low_precision::fp8_block_scaled;
      arena memory(required_bytes(spec));
      run_options options;
      options.seed = 7;
      const auto result = run_case(spec, memory, options);
      ASSERT_EQ(result.status, case_status::pass) << result.reason;
      const auto forecast = forecast_traffic(spec, options.seed);
      EXPECT_TRUE(forecast.exact);
      EXPECT_EQ(forecast.remote_bytes, result.remote_bytes);
      EXPECT_GT(forecast.returned_bytes, 0U);
      EXPECT_EQ(forecast.returned_bytes, result.returned_bytes);
    }
  }
}

TEST(traffic_forecast, nothing_leaves_one_rank_and_no_tokens_move_nothing) {
  EXPECT_EQ(forecast_traffic(small_case(1), 1).remote_bytes, 0U);
  auto spec = small_case(3);
  spec.num_tokens = 0;
  EXPECT_EQ(forecast_traffic(spec, 1).remote_bytes, 0U);
}

// A quarter of the tokens tells the whole within the spread of such a sample: with about 500 of 2000 tokens, each of
// which sends 0 .. 3 rows, five standard deviations of the mean are below a tenth of it.
TEST(traffic_forecast, a_sample_comes_near_and_says_that_it_is_one) {
  auto spec = small_case(4);
  spec.params.max_tokens_per_rank = 125;
  spec.num_tokens = 125;
  spec.runtime_max_tokens = 125;
  spec.steps = 4;
  const auto whole = forecast_traffic(spec, 3);
  const auto sample = forecast_traffic(spec, 3, 2000);
  ASSERT_TRUE(whole.exact);
  EXPECT_FALSE(sample.exact);
  EXPECT_NEAR(static_cast<double>(sample.remote_bytes), static_cast<double>(whole.remote_bytes),
              0.1 * static_cast<double>(whole.remote_bytes));
}

TEST(traffic_forecast, a_case_of_any_size_is_quick) {
  auto spec = small_case(256);
  spec.params = {.num_experts = 1024, .top_k = 32, .max_tokens_per_rank = 1 << 20, .hidden_size = 8192};
  spec.num_tokens = 1 << 20;
  spec.runtime_max_tokens = 1 << 20;
  spec.steps = 1 << 20;
  spec.extra_bytes = 0;
  // 2^20 steps of 256 * 2^20 tokens, of which each sends rows of 16 KiB to more than 20 other ranks: about 2^67 bytes.
  const auto forecast = forecast_traffic(spec, 3, 1 << 14);
  EXPECT_FALSE(forecast.exact);
  EXPECT_EQ(forecast.remote_bytes, max_forecast_bytes);
}

}  // namespace
}  // namespace switchyard::harness
