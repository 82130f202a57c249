// SPDX-License-Identifier: Apache-2.0
// What tests of the bench on two GPUs have in common.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

class needs_two_gpus : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto usable = bench_support(2);
    const char* required = std::getenv("SWITCHYARD_REQUIRE_GPUS");
    if (!usable.available && required != nullptr && std::atoi(required) >= 2) FAIL() << usable.reason;
    if (!usable.available) GTEST_SKIP() << usable.reason;
  }
};

inline bench_options small_bench(std::vector<std::int64_t> tokens) {
  bench_options options;
  options.profile = "deepseek_v3";
  options.params.num_experts = 256;
  options.params.top_k = 8;
  options.params.hidden_size = 7168;
  options.params.max_tokens_per_rank = tokens.back();
  options.tokens = std::move(tokens);
  options.launches = 10;
  return options;
}

}  // namespace switchyard::harness
