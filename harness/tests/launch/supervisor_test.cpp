// SPDX-License-Identifier: Apache-2.0
// How a supervisor starts a group, hands it cases, and ends it.
#include "switchyard/harness/supervisor.hpp"

#include <gtest/gtest.h>

#include "../run/small_case.hpp"
#include "channel_ends.hpp"
#include "fake_rank.hpp"
#include "switchyard/harness/machine.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;

case_spec case_of(int ranks, const std::string& name) {
  auto spec = small_case(ranks);
  spec.id = "unit/" + name;
  return spec;
}

fake_group three_ranks() { return {{case_of(3, "all"), case_of(2, "two"), case_of(4, "large")}, 3}; }

TEST(supervisor, a_group_that_is_started_once_runs_case_after_case) {
  auto group = three_ranks();
  auto& all = group.supervise();
  EXPECT_EQ(all.size(), 3);
  all.start();
  for (const std::size_t which : {0U, 1U, 0U}) {
    const auto result = all.run(group.cases[which]);
    EXPECT_EQ(result.status, case_status::pass) << explain(result);
  }
  std::string meeting;
  for (int rank = 0; rank < 3; ++rank) {
    auto& process = group.process(rank);
    EXPECT_EQ(process.starts, 1);
    const auto runs = process.told_of(say::run);
    ASSERT_EQ(runs.size(), rank == 2 ? 2U : 3U) << "the second case has two ranks";
    EXPECT_EQ(runs.front().at("case"), 0);
    EXPECT_EQ(runs.back().at("number"), 3);
    if (rank != 2) {
      EXPECT_EQ(runs[1].at("case"), 1);
    }
    EXPECT_EQ(runs.front().at("meeting"), runs.back().at("meeting")) << "backends are kept";
    if (rank == 0) meeting = runs.front().at("meeting").dump();
    EXPECT_EQ(runs.front().at("meeting").dump(), meeting);
    for (const auto& go : process.told_of(say::go)) EXPECT_EQ(go.at("well"), true);
    EXPECT_TRUE(process.told_of(say::call_off).empty());
  }
}

TEST(supervisor, keeps_what_each_rank_says_of_the_machine) {
  auto group = three_ranks();
  auto& all = group.supervise();
  all.start();
  EXPECT_EQ(all.as_seen(), json::parse(R"([{"life":1,"rank":0},{"life":1,"rank":1},{"life":1,"rank":2}])"));
}

TEST(supervisor, quit_is_said_once_and_nobody_is_killed_who_goes) {
  auto group = three_ranks();
  group.supervise().start();
  group.supervising->stop();
  group.supervising->stop();
  group.supervising = nullptr;
  for (const auto& process : group.processes) {
    EXPECT_EQ(process->told, std::vector({json({{"is", "quit"}})}));
    EXPECT_EQ(process->kills, 0);
  }
}

TEST(supervisor, who_does_not_quit_is_killed) {
  auto group = three_ranks();
  group.process(1).when_told = [](fake_process&, const json&) {};
  group.supervise().start();
  group.supervising = nullptr;
  EXPECT_EQ(group.process(0).kills, 0);
  EXPECT_EQ(group.process(1).kills, 1);
}

TEST(supervisor, a_case_of_more_ranks_than_there_are_is_skipped) {
  auto group = three_ranks();
  const auto result = group.supervise().run(group.cases[2]);
  EXPECT_EQ(result.status, case_status::skipped);
  EXPECT_EQ(result.reason, "needs 4 ranks, there are 3 processes");
  EXPECT_EQ(group.process(0).starts, 0);
}

TEST(supervisor, a_case_that_the_processes_do_not_have_is_not_started) {
  auto group = three_ranks();
  const auto result = group.supervise().run(case_of(2, "unknown"));
  EXPECT_EQ(result.status, case_status::crash);
  EXPECT_EQ(result.reason, "the processes do not have this case");
}

TEST(supervisor, a_process_that_cannot_be_started_is_named) {
  auto group = three_ranks();
  group.process(1).when_started = [](fake_process& process) {
    if (process.starts > 1) return process.say_hello();
    process.die("never was");
    throw channel_error("fork: no more processes");
  };
  auto& all = group.supervise();
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::crash);
  EXPECT_EQ(result.reason, "the group could not be started: rank 1: fork: no more processes");
  EXPECT_EQ(group.process(0).kills, 1) << "half a group is none";
  EXPECT_EQ(all.run(group.cases[0]).status, case_status::pass);
  EXPECT_EQ(group.process(0).starts, 2);
}

TEST(supervisor, a_process_that_ends_before_it_says_hello_is_named_with_its_last_words) {
  auto group = three_ranks();
  group.process(2).when_started = [](fake_process& process) { process.die("exited with 3", "no GPU here"); };
  auto& all = group.supervise();
  const std::string problem = "rank 2 exited with 3 before all had started; it said: no GPU here";
  EXPECT_EQ(thrown_by<environment_error>([&] { all.start(); }), problem);
  EXPECT_EQ(all.run(group.cases[0]).reason, "the group could not be started: " + problem);
  EXPECT_EQ(all.run(group.cases[1]).status, case_status::pass) << "which needs two";
}

TEST(supervisor, ranks_that_say_no_hello_in_time_are_named) {
  auto group = three_ranks();
  for (const int rank : {0, 2}) group.process(rank).when_started = [](fake_process&) {};
  auto& all = group.supervise([](auto& options) { options.start_limit = std::chrono::milliseconds(300); });
  EXPECT_EQ(thrown_by<environment_error>([&] { all.start(); }), "ranks that did not start within 300 ms: 0, 2");
}

TEST(supervisor, a_rank_of_another_build_is_named) {
  auto group = three_ranks();
  group.process(1).when_started = [](fake_process& process) { process.say_hello({{"commit", "b"}, {"seed", 1}}); };
  auto& all = group.supervise();
  const std::string problem = R"(rank 1 does not fit: commit is "b" there, "a" here)";
  EXPECT_EQ(thrown_by<environment_error>([&] { all.start(); }), problem);
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::crash);
  EXPECT_EQ(result.reason, "the group could not be started: " + problem);
  group.process(1).when_started = [](fake_process& process) { process.say_hello({{"commit", "a"}}); };
  EXPECT_EQ(all.run(group.cases[0]).reason,
            "the group could not be started: rank 1 does not fit: seed is not known there, 1 here");
}

TEST(supervisor, a_hello_that_cannot_be_understood_is_a_rank_that_does_not_start) {
  for (const auto& hello : {json({{"is", "hello"}}), json({{"is", 7}}), json::object(),
                            json({{"is", "hello"}, {"identity", {{"commit", "a"}, {"seed", 1}}}})}) {
    auto group = three_ranks();
    group.process(1).when_started = [&hello](fake_process& process) { process.say(hello); };
    const auto result = group.supervise().run(group.cases[0]);
    EXPECT_EQ(result.status, case_status::crash);
    const std::string expected = "the group could not be started: rank 1 said what cannot be understood, ";
    EXPECT_EQ(result.reason.substr(0, expected.size()), expected) << hello;
  }
}

TEST(supervisor, a_stop_while_ranks_start_leaves_the_case_missing) {
  auto group = three_ranks();
  group.process(0).when_started = [](fake_process&) {};
  auto& all = group.supervise([](auto& options) { options.stop_requested = [] { return true; }; });
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::missing);
  EXPECT_EQ(result.reason, "stopped while ranks were starting");
  EXPECT_EQ(group.process(1).kills, 1);
}

}  // namespace
}  // namespace switchyard::harness
