// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/compare.hpp"

#include <cmath>

#include "sample_files.hpp"
#include "switchyard/harness/gate/noise.hpp"

namespace switchyard::harness::gate {
namespace {

sample_set set_of(const std::vector<std::pair<std::string, double>>& scenarios, const std::string& gpu = "H200") {
  return read_samples(write_lines(own_folder() / "f.jsonl", whole_file(scenarios, "abc", gpu)));
}

TEST(compare, every_scenario_of_the_base_gets_a_verdict) {
  const auto result =
      compare_sets(set_of({{"a", 20}, {"b", 20}, {"c", 20}}), set_of({{"a", 20}, {"b", 22}, {"d", 20}}), {});
  ASSERT_EQ(result.scenarios.size(), 3U);
  EXPECT_EQ(result.scenarios[0].verdict, gate_verdict::pass);
  EXPECT_EQ(result.scenarios[1].verdict, gate_verdict::regressed);
  EXPECT_EQ(result.scenarios[2].verdict, gate_verdict::missing);
  EXPECT_EQ(result.only_in_current, (std::vector<std::string>{"d"}));
  EXPECT_EQ(exit_code_of(result), exit_code::failed);
}

TEST(compare, noise_is_what_the_base_says) {
  auto base = set_of({{"a", 20}});
  auto current = set_of({{"a", 22}});
  current.noise_us["a"] = 2.5;  // what is judged must not raise its own floor
  const auto silent = compare_sets(base, current, {});
  EXPECT_EQ(silent.scenarios[0].verdict, gate_verdict::regressed);
  EXPECT_FALSE(silent.scenarios[0].noise_us);
  ASSERT_EQ(silent.notes.size(), 1U);
  EXPECT_NE(silent.notes[0].find("no A/A noise of 1 of 1 scenarios"), std::string::npos);
  base.noise_us["a"] = 1;
  EXPECT_EQ(compare_sets(base, current, {}).scenarios[0].verdict, gate_verdict::regressed);
  base.noise_us["a"] = 2.6;
  EXPECT_EQ(compare_sets(base, current, {}).scenarios[0].verdict, gate_verdict::pass);
  EXPECT_TRUE(compare_sets(base, current, {}).notes.empty());
}

TEST(compare, a_testbed_that_is_not_known_is_not_judged) {
  for (auto part : {&testbed::gpu, &testbed::driver_branch, &testbed::cuda, &testbed::machine}) {
    auto base = set_of({{"a", 20}});
    auto current = set_of({{"a", 20}});
    (base.bed.*part).clear();
    (current.bed.*part).clear();
    const auto result = compare_sets(base, current, {});
    EXPECT_NE(result.keys_differ.find("the testbed is not known: no "), std::string::npos) << result.keys_differ;
    EXPECT_EQ(exit_code_of(result), exit_code::inconclusive);
  }
  auto base = set_of({{"a", 20}});
  auto current = set_of({{"a", 20}});
  base.noise_us["a"] = 0.1;
  base.bed.links.clear();
  current.bed.links.clear();
  const auto result = compare_sets(base, current, {});
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
  EXPECT_EQ(result.notes, (std::vector<std::string>{"links of the GPUs are unknown on either side"}));
}

TEST(compare, a_launch_of_the_base_that_failed_is_a_note) {
  auto base = set_of({{"a", 20}});
  base.noise_us["a"] = 0.1;
  base.failures = {"launch 3: ended with exit code 2"};
  const auto result = compare_sets(base, set_of({{"a", 20}}), {});
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
  EXPECT_EQ(result.notes, (std::vector<std::string>{"base, launch 3: ended with exit code 2"}));
}

TEST(compare, other_testbeds_are_shown_and_never_judged) {
  const auto result = compare_sets(set_of({{"a", 20}}), set_of({{"a", 10}}, "B200"), {});
  EXPECT_NE(result.keys_differ.find("base on 2 x H200"), std::string::npos);
  EXPECT_NE(result.keys_differ.find("here on 2 x B200"), std::string::npos);
  ASSERT_EQ(result.scenarios.size(), 1U);
  EXPECT_EQ(result.scenarios[0].verdict, gate_verdict::inconclusive);
  EXPECT_LT(result.scenarios[0].current_median_us, 11);
  EXPECT_EQ(exit_code_of(result), exit_code::inconclusive);
}

TEST(compare, a_launch_that_failed_fails_the_comparison) {
  auto current = set_of({{"a", 20}});
  current.failures = {"launch 3: ended with exit code 2"};
  EXPECT_EQ(exit_code_of(compare_sets(set_of({{"a", 20}}), current, {})), exit_code::failed);
}

sample_set run_of(const std::vector<std::pair<std::string, std::string>>& cases) {
  sample_set set;
  for (const auto& [id, status] : cases) {
    sample_series one;
    one.id = id;
    one.status = status;
    set.series.push_back(one);
  }
  return set;
}

TEST(compare, statuses_of_cases) {
  const auto base = run_of({{"a", "pass"}, {"b", "pass"}, {"c", "pass"}, {"d", "pass"}, {"e", "fail"}, {"f", "fail"}});
  const auto current = run_of({{"a", "pass"}, {"b", "fail"}, {"c", "skipped"}, {"e", "pass"}, {"f", "timeout"}});
  const auto result = compare_sets(base, current, {});
  using enum gate_verdict;
  std::vector<gate_verdict> verdicts;
  for (const auto& one : result.scenarios) verdicts.push_back(one.verdict);
  EXPECT_EQ(verdicts, (std::vector{pass, failed, missing, missing, pass, failed}));
  EXPECT_EQ(result.scenarios[2].reason, "pass in the base, skipped here");
  EXPECT_EQ(exit_code_of(result), exit_code::failed);
}

TEST(compare, a_new_case_that_did_not_pass_fails) {
  const auto base = run_of({{"a", "pass"}});
  const auto result =
      compare_sets(base, run_of({{"a", "pass"}, {"b", "fail"}, {"c", "skipped"}, {"f", "timeout"}}), {});
  ASSERT_EQ(result.scenarios.size(), 3U);
  EXPECT_EQ(result.scenarios[1].id, "b");
  EXPECT_EQ(result.scenarios[1].verdict, gate_verdict::failed);
  EXPECT_EQ(result.scenarios[1].reason, "not in the base, fail here");
  EXPECT_EQ(result.scenarios[2].id, "f");
  EXPECT_EQ(result.only_in_current, (std::vector<std::string>{"c"}));
  EXPECT_EQ(exit_code_of(result), exit_code::failed);
  const auto harmless = run_of({{"a", "pass"}, {"b", "pass"}, {"c", "skipped"}, {"d", "waived"}});
  EXPECT_EQ(compare_sets(base, harmless, {}).only_in_current, (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(exit_code_of(compare_sets(base, harmless, {})), exit_code::all_passed);
}

TEST(compare, a_run_with_skipped_and_waived_cases_is_no_worse_than_itself) {
  const auto run = run_of({{"a", "pass"}, {"b", "skipped"}, {"c", "waived"}});
  const auto result = compare_sets(run, run, {});
  ASSERT_EQ(result.scenarios.size(), 2U);
  EXPECT_EQ(result.scenarios[1].id, "c");
  EXPECT_FALSE(result.scenarios[1].waived_by.empty());
  EXPECT_EQ(result.notes, (std::vector<std::string>{"skipped in both, so left out: 1"}));
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
  EXPECT_EQ(exit_code_of(compare_sets(run, run_of({{"a", "skipped"}, {"b", "skipped"}, {"c", "waived"}}), {})),
            exit_code::failed);
  const auto nothing = run_of({{"b", "skipped"}, {"c", "waived"}});
  EXPECT_EQ(exit_code_of(compare_sets(nothing, nothing, {})), exit_code::environment);
}

TEST(noise, of_launches_that_do_not_differ_is_none) {
  const auto none = noise_of_launches(std::vector<double>(20, 15.0));
  EXPECT_EQ(none.median_us, 15);
  EXPECT_EQ(none.noise_us, 0);
}

TEST(noise, grows_with_the_spread_and_is_the_same_each_time) {
  std::vector<double> narrow;
  std::vector<double> wide;
  for (int i = 0; i < 20; ++i) {
    narrow.push_back(20 + 0.1 * std::sin(i * 2.1));
    wide.push_back(20 + 1.0 * std::sin(i * 2.1));
  }
  const auto one = noise_of_launches(narrow);
  EXPECT_EQ(one.noise_us, noise_of_launches(narrow).noise_us);
  EXPECT_GT(one.noise_us, 0.02);
  EXPECT_LT(one.noise_us, 0.2);
  EXPECT_NEAR(noise_of_launches(wide).noise_us / one.noise_us, 10, 0.001);
}

TEST(noise, of_launches_of_two_kinds_is_what_bounds_them) {
  std::vector<double> two_kinds;
  for (int i = 0; i < 20; ++i) two_kinds.push_back((i * 7 % 20 < 10 ? 20 : 22) + 0.001 * i);
  const auto noise = noise_of_launches(two_kinds);
  EXPECT_LT(noise.shift_us, 0.1);
  EXPECT_GT(noise.interval_us, 1.9);  // either half may have more of either kind
  EXPECT_EQ(noise.noise_us, std::max(noise.splits_us, noise.interval_us));
}

TEST(noise, shows_what_differs_between_the_sides_as_dealt) {
  std::vector<double> dealt;
  for (int i = 0; i < 20; ++i) dealt.push_back(i % 4 == 0 || i % 4 == 3 ? 20 : 21);
  const auto noise = noise_of_launches(dealt);
  EXPECT_EQ(noise.shift_us, 1);
  EXPECT_EQ(noise.noise_us, 1);
}

}  // namespace
}  // namespace switchyard::harness::gate
