// SPDX-License-Identifier: Apache-2.0
// Cases of the shipped suites on GPUs: skipped where there are too few, or failed where SWITCHYARD_REQUIRE_GPUS says
// there must be.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {

template <int Needed>
class gpu_cases : public testing::Test {
 protected:
  void SetUp() override {
    // Several ranks on a GPU wait for each other: each stream needs a hardware queue. Read when CUDA starts.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    std::string problem;
    try {
      machine_ = open_gpus(Needed);
      return;
    } catch (const environment_error& error) {
      problem = error.what();
    }
    const char* required = std::getenv("SWITCHYARD_REQUIRE_GPUS");
    if (required != nullptr && std::atoi(required) >= Needed) FAIL() << problem;
    GTEST_SKIP() << problem;
  }

  /// Runs the cases of a suite whose ids match; `expected` is the status of them all.
  void expect_all(const std::string& suite, const std::string& filter, case_status expected) {
    case_selection selection;
    selection.suites = {suite};
    selection.filter = filter;
    const auto cases = select_cases(suite_catalog(SWITCHYARD_TEST_SCENARIOS), selection);
    ASSERT_FALSE(cases.empty()) << suite << ' ' << filter;
    for (const auto& spec : cases) expect(spec, expected);
  }
  /// The rows that ranks receive and the sums that they get back have the same bits here and on the host fabric.
  void expect_the_hosts_bits(const std::string& suite, const std::string& filter) {
    case_selection selection;
    selection.suites = {suite};
    selection.filter = filter;
    const auto cases = select_cases(suite_catalog(SWITCHYARD_TEST_SCENARIOS), selection);
    ASSERT_FALSE(cases.empty()) << suite << ' ' << filter;
    for (auto spec : cases) {
      arena memory(required_bytes(spec));
      run_options options;
      options.machine = machine_;
      const auto here = run_case(spec, memory, options);
      spec.launch = launch_mode::eager;
      const auto on_host = run_case(spec, memory, {});
      ASSERT_EQ(on_host.status, case_status::pass) << spec.id << ": " << on_host.reason;
      EXPECT_EQ(here.status, case_status::pass) << spec.id << ": " << here.reason;
      EXPECT_EQ(here.results_digest, on_host.results_digest) << spec.id;
      EXPECT_EQ(here.checked_bytes, on_host.checked_bytes) << spec.id;
      EXPECT_NE(here.results_digest, 0U) << spec.id;
    }
  }
  /// Runs so many drawn cases in which ranks recover from a fault, all of them or all but one, however they launch.
  void expect_drawn_recoveries(std::uint64_t seed, int count) {
    random_limits limits;
    limits.max_ranks = 4;
    limits.faults_per_mille = 1000;
    int without = 0;
    for (std::uint64_t number = 0; count > 0; ++number) {
      auto settings = draw_settings(seed, number, limits);
      if (settings.contains("lacks_room_for")) continue;  // refused before any launch
      const auto mode = all_launch_modes.at(number % all_launch_modes.size());
      settings.insert_or_assign("launch", field_setting{std::string(to_string(mode)), {"test", ""}});
      const auto spec = random_case_of(settings);
      if (!spec.recovers || machine_->reason_to_skip(spec)) continue;
      --count;
      without += spec.leaves_out ? 1 : 0;
      expect(spec, case_status::pass);
    }
    EXPECT_GT(without, 0) << "no case without a rank was drawn";
  }
  void expect(const case_spec& spec, case_status expected) {
    arena memory(required_bytes(spec));
    run_options options;
    options.machine = machine_;
    const auto result = run_case(spec, memory, options);
    EXPECT_EQ(result.status, expected) << spec.id << ": " << result.reason;
    EXPECT_EQ(result.checked_bytes > 0, expected == case_status::pass) << spec.id;
  }

  std::shared_ptr<machine> machine_;
};

}  // namespace switchyard::harness
