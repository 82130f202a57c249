// SPDX-License-Identifier: Apache-2.0
// What a supervisor makes of ranks that end, hang, refuse or talk nonsense in the middle of a case.
#include <gtest/gtest.h>

#include "../run/small_case.hpp"
#include "fake_rank.hpp"
#include "switchyard/harness/supervisor.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

fake_group watched_group(const case_spec& spec = small_case(3)) { return {{spec}, spec.ep_size}; }

/// Serves, but does `instead` when the meeting has ended well, in its first life.
void at_end_of(fake_process& process, meeting_point where, std::function<void(fake_process&)> instead) {
  process.when_told = [where, instead = std::move(instead)](fake_process& self, const json& order) {
    const bool now = self.starts == 1 && order.at("is") == say::go && order.at("where") == static_cast<int>(where);
    now ? instead(self) : self.serve(order);
  };
}

/// The others have not come to the end of their steps until they are told to.
void work_until_called_off(fake_process& process) {
  at_end_of(process, meeting_point::after_construction, [](fake_process&) {});
}

TEST(supervision, a_rank_that_ends_is_a_crash_and_the_others_are_called_off) {
  auto group = watched_group();
  at_end_of(group.process(1), meeting_point::after_construction, [](fake_process& process) {
    process.say(rank_says::beat(2, phase::combine));
    process.die("was killed by signal 11 (Segmentation fault)", "what(): bad");
  });
  for (const int rank : {0, 2}) work_until_called_off(group.process(rank));
  auto& all = group.supervise();
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::crash);
  EXPECT_EQ(result.reason,
            "rank 1 was killed by signal 11 (Segmentation fault), having said \"what(): bad\", in combine of step 2");
  for (const int rank : {0, 2}) {
    const auto orders = group.process(rank).told_of(say::call_off);
    ASSERT_EQ(orders.size(), 1U);
    EXPECT_EQ(orders[0].at("reason"), "a rank of the group has left the case");
    EXPECT_EQ(orders[0].at("all"), false);
    EXPECT_EQ(group.process(rank).kills, 1) << "of a group that has seen a crash nothing is known";
  }
}

TEST(supervision, the_case_behind_a_crash_has_a_new_group) {
  auto group = watched_group();
  at_end_of(group.process(0), meeting_point::before_construction, [](fake_process& process) { process.die("exited"); });
  auto& all = group.supervise();
  EXPECT_EQ(all.run(group.cases[0]).reason, "rank 0 exited in construction");
  const auto next = all.run(group.cases[0]);
  EXPECT_EQ(next.status, case_status::pass) << explain(next);
  for (const auto& process : group.processes) {
    EXPECT_EQ(process->starts, 2);
    const auto runs = process->told_of(say::run);
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_NE(runs[0].at("meeting").at("name"), runs[1].at("meeting").at("name"));
    EXPECT_NE(runs[0].at("number"), runs[1].at("number"));
  }
}

TEST(supervision, a_rank_that_hangs_is_named_when_the_case_takes_too_long) {
  auto group = watched_group();
  for (int rank = 0; rank < 3; ++rank) work_until_called_off(group.process(rank));
  at_end_of(group.process(2), meeting_point::after_construction,
            [](fake_process& process) { process.say(rank_says::beat(1, phase::dispatch)); });
  for (const int rank : {0, 1}) {
    at_end_of(group.process(rank), meeting_point::after_construction, [&group, rank](fake_process& process) {
      process.say(rank_says::outcome(group.cases[0], rank_says::missing_rank(group.cases[0], rank == 0 ? 2 : 0, 1)));
    });
  }
  auto& all = group.supervise([](auto& options) { options.case_limit = 1s; });
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::timeout);
  EXPECT_EQ(result.reason, "no end within 1000 ms: rank 2 in dispatch of step 1; missed by rank 0");
  const auto orders = group.process(2).told_of(say::call_off);
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].at("reason"), "the supervisor saw no end within 1000 ms");
  EXPECT_TRUE(group.process(0).told_of(say::call_off).empty()) << "it has nothing to leave any more";
}

// The slowest test of all: it waits for both graces of a rank that does not leave (2 * 5 s).
TEST(supervision, a_rank_that_never_answers_is_killed_with_all_others) {
  auto group = watched_group(small_case(2));
  group.process(1).when_told = [](fake_process& self, const json& order) {
    if (self.starts > 1 || order.at("is") == say::run) self.serve(order);
  };
  auto& all = group.supervise([](auto& options) { options.case_limit = 1s; });
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::timeout);
  EXPECT_EQ(result.reason, "no end within 1000 ms: rank 1 in construction");
  const auto orders = group.process(1).told_of(say::call_off);
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(orders[0].at("all"), false);
  EXPECT_EQ(orders[1].at("all"), true);
  EXPECT_EQ(group.process(0).kills, 1);
  EXPECT_EQ(group.process(1).kills, 1);
  EXPECT_EQ(all.run(group.cases[0]).status, case_status::pass);
}

TEST(supervision, a_stop_leaves_the_case_missing) {
  auto group = watched_group();
  bool stop = false;
  for (int rank = 0; rank < 3; ++rank) work_until_called_off(group.process(rank));
  at_end_of(group.process(1), meeting_point::after_construction, [&stop](fake_process&) { stop = true; });
  auto& all = group.supervise([&stop](auto& options) { options.stop_requested = [&stop] { return stop; }; });
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::missing);
  EXPECT_EQ(result.reason, "stopped before its end");
  EXPECT_EQ(group.process(1).told_of(say::call_off).at(0).at("reason"), "the run was stopped");
}

TEST(supervision, what_cannot_be_understood_ends_the_process_that_said_it) {
  auto group = watched_group();
  at_end_of(group.process(1), meeting_point::after_construction, [](fake_process& process) {
    process.say({{"is", "met"}, {"where", "nowhere"}, {"well", true}});
  });
  auto& all = group.supervise();
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::crash);
  const std::string begin = "rank 1 said what cannot be understood, ";
  EXPECT_EQ(result.reason.substr(0, begin.size()), begin);
  EXPECT_EQ(group.process(1).kills, 1);
}

TEST(supervision, after_a_skip_the_group_goes_on_as_it_was) {
  auto group = watched_group();
  for (const auto& process : group.processes) {
    process->when_told = [](fake_process& self, const json& order) {
      const bool first = order.at("is") == say::run && order.at("number") == 1;
      first ? self.say(rank_says::refused(case_status::skipped, "too large for here")) : self.serve(order);
    };
  }
  auto& all = group.supervise();
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::skipped);
  EXPECT_EQ(result.reason, "too large for here");
  EXPECT_EQ(all.run(group.cases[0]).status, case_status::pass);
  const auto runs = group.process(0).told_of(say::run);
  EXPECT_EQ(group.process(0).starts, 1);
  EXPECT_EQ(runs.at(0).at("meeting"), runs.at(1).at("meeting"));
}

TEST(supervision, a_rank_that_alone_refuses_does_not_keep_the_others) {
  auto group = watched_group();
  group.process(2).when_told = [](fake_process& self, const json& order) {
    order.at("is") == say::run ? self.say(rank_says::refused(case_status::crash, "no memory")) : self.serve(order);
  };
  auto& all = group.supervise();
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::crash);
  EXPECT_EQ(result.reason, "rank 2: no memory");
  EXPECT_EQ(group.process(0).told_of(say::call_off).size(), 1U);
  EXPECT_EQ(group.process(0).kills, 0);
}

TEST(supervision, behind_a_failure_processes_live_on_and_make_new_backends) {
  auto group = watched_group();
  at_end_of(group.process(0), meeting_point::after_steps, [&group](fake_process& process) {
    if (process.told_of(say::run).size() == 2) return process.say(rank_says::outcome(group.cases[0]));
    process.say(rank_says::outcome(group.cases[0], [](rank_outcome& found) { found.error = "wrong"; }));
  });
  auto& all = group.supervise();
  EXPECT_EQ(all.run(group.cases[0]).status, case_status::fail);
  EXPECT_EQ(all.run(group.cases[0]).status, case_status::pass);
  const auto runs = group.process(1).told_of(say::run);
  EXPECT_EQ(group.process(1).starts, 1);
  EXPECT_NE(runs.at(0).at("meeting").at("name"), runs.at(1).at("meeting").at("name"));
}

TEST(supervision, behind_a_lost_device_all_processes_are_new) {
  auto group = watched_group();
  at_end_of(group.process(1), meeting_point::after_steps, [&group](fake_process& process) {
    process.say(rank_says::outcome(
        group.cases[0], [](rank_outcome& found) { found.error = "an illegal access"; }, {}, "GPU 1"));
  });
  auto& all = group.supervise();
  const auto result = all.run(group.cases[0]);
  EXPECT_EQ(result.status, case_status::device_lost);
  EXPECT_EQ(result.reason, "rank 1: GPU 1; seen as: rank 1: an illegal access");
  for (const auto& process : group.processes) EXPECT_EQ(process->kills, 1);
}

TEST(supervision, a_process_that_the_case_ends_is_replaced_alone) {
  auto spec = small_case(3);
  spec.inject = {.rank = 1, .step = 2, .phase = phase::dispatch, .kind = fault_kind::kill};
  spec.expected_fault = fault_code::timeout;
  for (const bool halted : {false, true}) {
    if (halted) spec.inject->kind = fault_kind::halt;
    auto group = watched_group(spec);
    for (const auto& process : group.processes) {
      process->when_told = [&group, halted](fake_process& self, const json& order) {
        const bool at_steps = order.at("is") == say::go && order.at("where") == 1;
        if (!at_steps) return self.serve(order);
        if (&self != group.processes[1].get()) {
          return self.say(rank_says::outcome(group.cases[0], rank_says::missing_rank(group.cases[0], 1, 2)));
        }
        halted ? self.be_stopped() : self.die("was killed by signal 9 (Killed)");
      };
    }
    auto& all = group.supervise();
    for (const int life : {1, 2}) {
      const auto result = all.run(group.cases[0]);
      EXPECT_EQ(result.status, case_status::pass) << explain(result);
      EXPECT_EQ(group.process(0).starts, 1);
      EXPECT_EQ(group.process(1).starts, life);
      EXPECT_EQ(group.process(1).kills, halted ? life : 0);
    }
    const auto runs = group.process(0).told_of(say::run);
    EXPECT_NE(runs.at(0).at("meeting").at("name"), runs.at(1).at("meeting").at("name"));
  }
}

TEST(supervision, meetings_that_do_not_end_well_are_told_so) {
  auto group = watched_group();
  at_end_of(group.process(2), meeting_point::before_construction, [&group](fake_process& process) {
    process.say(rank_says::met(meeting_point::after_construction, false));
    process.say(rank_says::met(meeting_point::after_steps));
    process.spec = group.cases.data();
  });
  auto& all = group.supervise();
  (void)all.run(group.cases[0]);
  for (const auto& process : group.processes) {
    const auto ends = process->told_of(say::go);
    ASSERT_EQ(ends.size(), 3U);
    EXPECT_EQ(ends[0], json({{"is", "go"}, {"where", 0}, {"well", true}}));
    EXPECT_EQ(ends[1], json({{"is", "go"}, {"where", 1}, {"well", false}}));
    EXPECT_EQ(ends[2], json({{"is", "go"}, {"where", 4}, {"well", true}}));
  }
}

}  // namespace
}  // namespace switchyard::harness
