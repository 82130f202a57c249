// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/verdict.hpp"

#include <gtest/gtest.h>

namespace switchyard::harness::gate {
namespace {

/// So many launches round a time, none like another, that spread over `spread_us` altogether.
std::vector<double> launches(std::size_t count, double us, double spread_us = 0.1) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<double>(i * 7 % count);
    values.push_back(us + spread_us * (place / static_cast<double>(count - 1) - 0.5));
  }
  return values;
}

scenario_samples samples(double base_us, double current_us, std::size_t count = 10, double spread_us = 0.1) {
  scenario_samples one;
  one.id = "bench/test@tokens=1";
  one.base_us = launches(count, base_us, spread_us);
  one.current_us = launches(count, current_us, spread_us);
  return one;
}

scenario_verdict verdict_of(const scenario_samples& one, const gate_rules& rules = {}) {
  return judge(std::vector{one}, rules).at(0);
}

TEST(verdict, the_same_times_pass) {
  const auto one = verdict_of(samples(20, 20));
  EXPECT_EQ(one.verdict, gate_verdict::pass);
  EXPECT_EQ(one.base_median_us, one.current_median_us);
  EXPECT_NEAR(one.shift_us.shift, 0, 1e-12);
  EXPECT_EQ(one.test.p_two_sided, 1);
}

TEST(verdict, six_percent_are_a_regression_and_the_reason_says_why) {
  const auto one = verdict_of(samples(20, 21.2));
  EXPECT_EQ(one.verdict, gate_verdict::regressed);
  EXPECT_EQ(one.floor_from, floor_source::percent);
  EXPECT_DOUBLE_EQ(one.floor_us, 0.4);
  EXPECT_EQ(one.reason.rfind("slower: +1.200 us (+6.00 %), between +1.1", 0), 0U) << one.reason;
  EXPECT_NE(one.reason.find("; floor 0.400 (percent), q 1.1e-05"), std::string::npos) << one.reason;
}

TEST(verdict, faster_is_improved_and_never_fails) {
  const auto one = verdict_of(samples(20, 18.8));
  EXPECT_EQ(one.verdict, gate_verdict::improved);
  EXPECT_EQ(exit_code_of({{one}, {}, {}, {}, {}}), exit_code::all_passed);
}

TEST(verdict, a_shift_below_the_floor_passes_however_sure_it_is) {
  const auto one = verdict_of(samples(20, 20.35));
  EXPECT_LT(one.q, 0.001);
  EXPECT_EQ(one.verdict, gate_verdict::pass);
}

TEST(verdict, the_lower_bound_must_pass_the_floor_not_the_estimate) {
  const auto one = verdict_of(samples(20, 20.45, 10, 0.4));
  EXPECT_LT(one.q, 0.05);
  EXPECT_GT(one.shift_us.shift, one.floor_us);
  EXPECT_LT(one.shift_us.lower.value(), one.floor_us);
  EXPECT_EQ(one.verdict, gate_verdict::inconclusive);
  EXPECT_EQ(one.reason.rfind("slower, perhaps by less than the floor: ", 0), 0U) << one.reason;
}

TEST(verdict, beyond_the_floor_but_perhaps_by_chance_is_no_verdict) {
  const auto one = verdict_of(samples(20, 20.5, 10, 4));
  EXPECT_GE(one.q, 0.05);
  EXPECT_EQ(one.verdict, gate_verdict::inconclusive);
  EXPECT_EQ(one.reason.rfind("slower, perhaps by chance: ", 0), 0U) << one.reason;
  EXPECT_EQ(verdict_of(samples(20, 19.5, 10, 4)).verdict, gate_verdict::pass);  // nothing is lost
}

TEST(verdict, the_floor_is_the_largest_of_three) {
  gate_rules rules;
  EXPECT_DOUBLE_EQ(floor_of(100, {}, rules).us, 2);
  EXPECT_EQ(floor_of(100, {}, rules).from, floor_source::percent);
  EXPECT_DOUBLE_EQ(floor_of(10, {}, rules).us, 0.3);
  EXPECT_EQ(floor_of(10, {}, rules).from, floor_source::least_us);
  EXPECT_DOUBLE_EQ(floor_of(100, 5, rules).us, 5);
  EXPECT_EQ(floor_of(100, 5, rules).from, floor_source::noise);
  rules.percent = 7;
  EXPECT_DOUBLE_EQ(floor_of(100, 5, rules).us, 7);
}

TEST(verdict, noise_raises_the_floor) {
  auto one = samples(20, 21.2);
  one.noise_us = 1.5;
  EXPECT_EQ(verdict_of(one).verdict, gate_verdict::pass);
  one.noise_us = 0.5;
  EXPECT_EQ(verdict_of(one).verdict, gate_verdict::regressed);
  EXPECT_EQ(verdict_of(one).floor_from, floor_source::noise);
}

TEST(verdict, below_four_launches_nothing_is_concluded) {
  EXPECT_EQ(verdict_of(samples(20, 40, 3)).verdict, gate_verdict::inconclusive);
  EXPECT_EQ(verdict_of(samples(20, 20, 3)).verdict, gate_verdict::inconclusive);
  EXPECT_EQ(verdict_of(samples(20, 40, 4)).verdict, gate_verdict::regressed);
  auto uneven = samples(20, 20);
  uneven.current_us.resize(3);
  EXPECT_EQ(verdict_of(uneven).verdict, gate_verdict::inconclusive);
  EXPECT_EQ(verdict_of(uneven).reason.rfind("fewer than 4 launches a side (3); ", 0), 0U);
}

TEST(verdict, below_eight_launches_many_scenarios_are_not_concluded) {
  std::vector<scenario_samples> twenty(20, samples(20, 20, 7));
  for (const auto& one : judge(twenty, {})) EXPECT_EQ(one.verdict, gate_verdict::pass);
  auto more = twenty;
  more.push_back(samples(20, 30, 7));
  for (const auto& one : judge(more, {})) EXPECT_EQ(one.verdict, gate_verdict::inconclusive);
  std::vector<scenario_samples> eight(21, samples(20, 20, 8));
  for (const auto& one : judge(eight, {})) EXPECT_EQ(one.verdict, gate_verdict::pass);
}

TEST(verdict, many_scenarios_ask_for_more_certainty) {
  // p of 0.03 is enough by itself and not as one of thirty.
  auto doubtful = samples(20, 24, 8);
  doubtful.current_us = {19.9, 20.03, 24, 24.1, 24.2, 24.3, 24.4, 24.5};
  EXPECT_LT(verdict_of(doubtful).q, 0.05);
  std::vector<scenario_samples> thirty(30, samples(20, 20, 8));
  thirty[7] = doubtful;
  const auto one = judge(thirty, {})[7];
  EXPECT_EQ(one.test.p_two_sided, verdict_of(doubtful).test.p_two_sided);
  EXPECT_GT(one.q, 0.05);
  EXPECT_EQ(one.verdict, gate_verdict::inconclusive);
}

TEST(verdict, what_is_not_there_is_missing_and_what_is_wrong_failed) {
  auto gone = samples(20, 20);
  gone.current_us.clear();
  EXPECT_EQ(verdict_of(gone).verdict, gate_verdict::missing);
  auto wrong = samples(20, 10);
  wrong.failure = "wrong result in launch 3";
  EXPECT_EQ(verdict_of(wrong).verdict, gate_verdict::failed);
  EXPECT_EQ(verdict_of(wrong).reason, "wrong result in launch 3");
  wrong.current_us.clear();
  EXPECT_EQ(verdict_of(wrong).verdict, gate_verdict::failed);
}

TEST(verdict, missing_scenarios_do_not_dilute_the_others) {
  std::vector<scenario_samples> some(30, samples(20, 20));
  for (auto& one : some) one.current_us.clear();
  some.push_back(samples(20, 21.2));
  EXPECT_DOUBLE_EQ(judge(some, {}).back().q, judge(some, {}).back().test.p_two_sided);
}

gate_result result_of(const std::vector<gate_verdict>& verdicts) {
  gate_result result;
  for (const auto which : verdicts) {
    result.scenarios.emplace_back();
    result.scenarios.back().verdict = which;
  }
  return result;
}

TEST(gate_exit_code, the_worst_of_all) {
  using enum gate_verdict;
  EXPECT_EQ(exit_code_of(result_of({pass, improved})), exit_code::all_passed);
  EXPECT_EQ(exit_code_of(result_of({pass, inconclusive})), exit_code::inconclusive);
  EXPECT_EQ(exit_code_of(result_of({inconclusive, regressed})), exit_code::regressed);
  EXPECT_EQ(exit_code_of(result_of({regressed, missing})), exit_code::failed);
  EXPECT_EQ(exit_code_of(result_of({regressed, failed, inconclusive})), exit_code::failed);
  EXPECT_EQ(exit_code_of(result_of({})), exit_code::environment);
  auto with_failure = result_of({pass});
  with_failure.failures = {"launch 3 ended with exit code 2"};
  EXPECT_EQ(exit_code_of(with_failure), exit_code::failed);
  auto other_testbed = result_of({});
  other_testbed.keys_differ = "2 GPUs and 4";
  EXPECT_EQ(exit_code_of(other_testbed), exit_code::inconclusive);
}

TEST(gate_exit_code, what_is_waived_does_not_count) {
  auto result = result_of({gate_verdict::pass, gate_verdict::regressed});
  result.scenarios[1].waived_by = "somebody";
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
  EXPECT_EQ(result.count(gate_verdict::regressed), 0U);
}

TEST(gate_exit_code, where_all_is_waived_nothing_passed) {
  auto result = result_of({gate_verdict::regressed, gate_verdict::missing});
  for (auto& one : result.scenarios) one.waived_by = "somebody";
  EXPECT_EQ(exit_code_of(result), exit_code::environment);
  result.scenarios.emplace_back().verdict = gate_verdict::regressed;
  EXPECT_EQ(exit_code_of(result), exit_code::regressed);
  result.scenarios.back().verdict = gate_verdict::improved;
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
}

TEST(median, of_few) {
  EXPECT_EQ(median_us({3}), 3);
  EXPECT_EQ(median_us({4, 1}), 2.5);
  EXPECT_EQ(median_us({9, 1, 5}), 5);
}

}  // namespace
}  // namespace switchyard::harness::gate
