// SPDX-License-Identifier: Apache-2.0
// A case that somebody stops is left soon, whatever it is doing, and has neither passed nor failed.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "small_case.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

/// Runs `spec` and asks it to stop 100 ms after its start.
std::chrono::steady_clock::duration stop_after_a_moment(const case_spec& spec, case_result& result, arena& memory) {
  const auto begin = std::chrono::steady_clock::now();
  run_options options;
  options.stop_requested = [begin] { return std::chrono::steady_clock::now() - begin > 100ms; };
  result = run_case(spec, memory, options);
  return std::chrono::steady_clock::now() - begin;
}

void expect_left_soon(const case_spec& spec) {
  arena memory(required_bytes(spec));
  case_result result;
  const auto elapsed = stop_after_a_moment(spec, result, memory);
  EXPECT_EQ(result.status, case_status::missing) << result.reason;
  EXPECT_EQ(result.reason, "stopped before its end");
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(result.faults.empty());
  EXPECT_LT(elapsed, 5s);  // about a second where nothing else runs; sanitizers and busy machines are slower
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(run_case(small_case(2), memory, {}).status, case_status::pass);
}

TEST(run_case_stop, while_ranks_wait_for_one_that_does_not_come) {
  auto spec = small_case(3);
  spec.inject = injected_fault{.rank = 1, .step = 1, .phase = phase::dispatch};
  spec.expected_fault = fault_code::timeout;
  spec.timeout = 60s;
  expect_left_soon(spec);
}

TEST(run_case_stop, while_a_rank_sleeps) {
  auto spec = small_case(2);
  spec.late.at_most = 60s;
  expect_left_soon(spec);
}

TEST(run_case_stop, while_steps_follow_one_another) {
  auto spec = small_case(3);
  spec.steps = 1'000'000;
  expect_left_soon(spec);
}

TEST(run_case_stop, a_case_that_nobody_stops_is_asked_and_passes) {
  const auto spec = small_case(2);
  arena memory(required_bytes(spec));
  run_options options;
  options.stop_requested = [] { return false; };
  EXPECT_EQ(run_case(spec, memory, options).status, case_status::pass);
}

}  // namespace
}  // namespace switchyard::harness
