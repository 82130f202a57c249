// SPDX-License-Identifier: Apache-2.0
// Real child processes that print the lines of a bench.
#include "switchyard/harness/gate/launches.hpp"

#include <cmath>

#include "sample_files.hpp"
#include "switchyard/harness/gate/compare.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

using words = std::vector<std::string>;

class launching : public testing::Test {
 protected:
  void SetUp() override { folder_ = own_folder(); }

  /// A build with a state of its own.
  words build(const std::string& name, const words& more = {}) {
    words command{SWITCHYARD_FAKE_BENCH, "--state", (folder_ / name).string()};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  std::vector<launched_side> run(const std::vector<words>& commands, int launches,
                                 std::chrono::seconds patience = std::chrono::seconds(30)) {
    std::vector<launched_side> sides(commands.size());
    run_launches({commands, launches, patience}, sides, [&](const auto& line) { notes_.push_back(line); });
    return sides;
  }
  sample_set read(const launched_side& side) {
    const auto file = folder_ / "samples.jsonl";
    std::ofstream(file) << samples_text(side, noise_of(side), "2026-01-01T00:00:00Z");
    return read_samples(file);
  }

  std::filesystem::path folder_;
  std::vector<std::string> notes_;
};

TEST(turns, of_two_are_dealt_so_that_drift_falls_on_both) {
  EXPECT_EQ(turns_of(2, 4), (std::vector<std::size_t>{0, 1, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(turns_of(1, 3), (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_TRUE(turns_of(2, 0).empty());
}

TEST_F(launching, each_launch_is_a_process_and_a_sample) {
  const auto sides = run({build("a")}, 3);
  EXPECT_EQ(sides[0].launches, 3);
  EXPECT_TRUE(sides[0].failed.empty());
  EXPECT_EQ(sides[0].samples.size(), 3 * 2 * 3U);  // launches, points, phases
  const auto set = read(sides[0]);
  ASSERT_EQ(set.series.size(), 6U);
  for (const auto& one : set.series) {
    EXPECT_EQ(one.time_us.size(), 3U);
    EXPECT_NE(one.time_us[0], one.time_us[1]) << one.id;
  }
  EXPECT_EQ(notes_.front(), "launch 0, 1 of 3");
}

TEST_F(launching, a_slower_build_is_flagged_and_the_same_is_not) {
  auto sides = run({build("a"), build("b", {"--slower", "0.06"})}, 10);
  const auto slower = compare_sets(read(sides[0]), read(sides[1]), {});
  ASSERT_EQ(slower.scenarios.size(), 6U);
  for (const auto& one : slower.scenarios) EXPECT_EQ(one.verdict, gate_verdict::regressed) << one.reason;
  sides = run({build("c"), build("d")}, 10);
  const auto same = compare_sets(read(sides[0]), read(sides[1]), {});
  for (const auto& one : same.scenarios) EXPECT_EQ(one.verdict, gate_verdict::pass) << one.reason;
}

TEST_F(launching, noise_is_told_for_enough_launches) {
  EXPECT_TRUE(noise_of(run({build("a")}, 3)[0]).empty());
  const auto set = read(run({build("b")}, 8)[0]);
  ASSERT_EQ(set.noise_us.size(), 6U);
  for (const auto& [id, us] : set.noise_us) EXPECT_GT(us, 0) << id;
}

TEST_F(launching, one_that_crashes_fails_or_hangs_is_told_and_gives_no_sample) {
  for (const auto& [option, why] : {std::pair{"--crash-at", "ended by signal 6"},
                                    {"--fail-at", "ended with exit code 2"},
                                    {"--hang-at", "said nothing for 1000 ms and was killed"}}) {
    const auto side = run({build(option, {option, "1"})}, 3, std::chrono::seconds(1))[0];
    ASSERT_EQ(side.failed.size(), 1U) << option;
    EXPECT_EQ(side.failed[0].first, 1);
    EXPECT_EQ(side.failed[0].second, why);
    EXPECT_EQ(side.samples.size(), 2 * 2 * 3U);
    const auto set = read(side);
    EXPECT_EQ(set.failures, (std::vector<std::string>{std::string("launch 1: ") + why}));
    EXPECT_EQ(exit_code_of(compare_sets(set, set, {})), exit_code::failed);
  }
}

TEST_F(launching, each_can_be_kept_when_it_has_ended) {
  std::vector<launched_side> sides(1);
  std::vector<std::size_t> kept;
  const auto keep = [&] { kept.push_back(read(sides[0]).series[0].time_us.size()); };
  run_launches({{build("a")}, 3, std::chrono::seconds(30), keep}, sides, [](const auto&) {});
  EXPECT_EQ(kept, (std::vector<std::size_t>{1, 2, 3}));
}

TEST_F(launching, that_all_lack_something_is_known) {
  EXPECT_TRUE(all_lacked_something(run({{"/bin/sh", "-c", "exit 3"}}, 2)[0]));
  EXPECT_FALSE(all_lacked_something(run({{"/bin/sh", "-c", "exit 2"}}, 2)[0]));
  EXPECT_FALSE(all_lacked_something(run({build("a")}, 1)[0]));
  EXPECT_FALSE(all_lacked_something({}));
}

TEST_F(launching, what_is_no_bench_is_told) {
  const auto why = [&](const std::string& script) {
    return run({{"/bin/sh", "-c", script}}, 1)[0].failed.at(0).second;
  };
  EXPECT_EQ(why("true"), "printed no header of a bench");
  EXPECT_EQ(why("echo '{\"record\":\"bench_header\"}'"), "printed no point");
  EXPECT_EQ(why("echo '{\"record\":\"bench_header\"}'; echo '{\"record\":\"bench_point\"}'"),
            "printed a point that is not whole");
  const auto side = run({{(folder_ / "absent").string()}}, 1)[0];
  EXPECT_NE(side.failed.at(0).second.find("cannot be run"), std::string::npos);
  EXPECT_THROW((void)samples_text(side, {}, ""), input_error);
}

TEST_F(launching, another_build_in_between_is_no_sample) {
  const std::string state = " --state " + (folder_ / "a").string();
  const std::string script =
      "test -e " + (folder_ / "a").string() + " && f=1; " + SWITCHYARD_FAKE_BENCH + state +
      " | if test \"$f\"; then sed 's/\"git_commit\":[^,]*/\"git_commit\":\"other\"/'; else cat; fi";
  const auto side = run({{"/bin/sh", "-c", script}}, 2)[0];
  ASSERT_EQ(side.failed.size(), 1U);
  EXPECT_EQ(side.failed[0].second, "is of another build, testbed or options than the launches before");
}

TEST_F(launching, more_launches_of_fewer_points_go_on_with_the_numbers) {
  std::vector<launched_side> sides(1);
  const auto ignore = [](const auto&) {};
  run_launches({{build("a")}, 2, std::chrono::seconds(30)}, sides, ignore);
  run_launches({{build("a", {"--tokens", "16"})}, 2, std::chrono::seconds(30)}, sides, ignore);
  EXPECT_TRUE(sides[0].failed.empty());
  const auto set = read(sides[0]);
  EXPECT_EQ(set.launches, 4);
  for (const auto& one : set.series) {
    EXPECT_EQ(one.time_us.size(), one.id.find(",tokens=16") == std::string::npos ? 2U : 4U) << one.id;
  }
}

}  // namespace
}  // namespace switchyard::harness::gate
