// SPDX-License-Identifier: Apache-2.0
// Every combination of statuses and flags against the precedence 6 > 2 > 3 > 1 > 4 > 0, written down independently.
#include "switchyard/harness/exit_code.hpp"

#include <gtest/gtest.h>

#include <set>

namespace switchyard::harness {
namespace {

TEST(exit_code, every_combination) {
  constexpr unsigned num_flags = 5;
  const std::array<int, 6> strongest_first{6, 2, 3, 1, 4, 0};
  for (unsigned bits = 0; bits < (1U << (num_case_statuses + num_flags)); ++bits) {
    const auto bit = [bits](unsigned which) { return ((bits >> which) & 1U) != 0; };
    run_outcome outcome;
    for (unsigned i = 0; i < num_case_statuses; ++i) outcome.cases[i] = bit(i) ? i + 1 : 0;
    outcome.internal_error = bit(8);
    outcome.environment_lacking = bit(9);
    outcome.regressed = bit(10);
    outcome.inconclusive = bit(11);
    outcome.empty_shard = bit(12);

    // Statuses in their order: pass, fail, crash, timeout, device_lost, skipped, waived, missing.
    std::set<int> reasons{0};
    if (bit(8)) reasons.insert(6);
    for (const unsigned bad : {1U, 2U, 3U, 4U, 7U}) {
      if (bit(bad)) reasons.insert(2);
    }
    if (bit(9) || (!bit(0) && !bit(12))) reasons.insert(3);
    if (bit(10)) reasons.insert(1);
    if (bit(11)) reasons.insert(4);
    int expected = -1;
    for (const int code : strongest_first) {
      if (expected < 0 && reasons.count(code) != 0) expected = code;
    }
    ASSERT_EQ(static_cast<int>(exit_code_of(outcome)), expected) << "combination " << bits;
  }
}

TEST(exit_code, statuses_stand_in_the_order_that_the_test_above_assumes) {
  const std::array<std::string_view, num_case_statuses> words{"pass",        "fail",    "crash",  "timeout",
                                                              "device_lost", "skipped", "waived", "missing"};
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(to_string(static_cast<case_status>(i)), words[i]);
}

TEST(exit_code, meanings_differ) {
  std::set<std::string_view> seen;
  for (int code = 0; code <= 6; ++code) EXPECT_TRUE(seen.insert(meaning(static_cast<exit_code>(code))).second) << code;
}

}  // namespace
}  // namespace switchyard::harness
