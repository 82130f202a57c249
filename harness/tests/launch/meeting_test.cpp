// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a case wait for each other: as threads, and as processes of which one is here.
#include "run/meeting.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "channel_ends.hpp"
#include "process_group.hpp"
#include "run/rank_group.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;

/// Calls `what` for each of 0 .. count - 1, each on a thread of its own. How many said true.
int true_of(int count, const std::function<bool(int)>& what) {
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back([&, number] { found += what(number) ? 1 : 0; });
  }
  for (auto& each : threads) each.join();
  return found;
}

TEST(meeting, its_first_end_counts) {
  for (const bool well : {false, true}) {
    meeting one;
    EXPECT_FALSE(one.has_ended());
    one.end(well);
    EXPECT_TRUE(one.has_ended());
    one.end(!well);
    EXPECT_EQ(one.wait(), well);
    EXPECT_EQ(one.wait(), well);
  }
}

TEST(meeting, those_that_wait_are_woken) {
  meeting one;
  constexpr int waiting = 8;
  EXPECT_EQ(true_of(waiting + 1,
                    [&](int number) {
                      if (number == waiting) one.end(true);
                      return one.wait();
                    }),
            waiting + 1);
}

TEST(thread_group, everybody_gets_the_answer_that_all_are_well) {
  constexpr int ranks = 64;
  const auto group = make_thread_group(ranks);
  std::array<std::atomic<int>, num_meeting_points> arrived{};
  const int right = true_of(ranks, [&](int rank) {
    bool right_everywhere = true;
    for (std::size_t where = 0; where < num_meeting_points; ++where) {
      ++arrived.at(where);
      const bool well = group->meet(static_cast<meeting_point>(where), rank, true);
      right_everywhere = right_everywhere && well && arrived.at(where) == ranks;
    }
    return right_everywhere;
  });
  EXPECT_EQ(right, ranks);
}

TEST(thread_group, one_that_is_not_well_is_an_answer_for_all_of_that_meeting_alone) {
  constexpr int ranks = 16;
  for (const int sick : {0, 7, ranks - 1}) {
    const auto group = make_thread_group(ranks);
    const auto meet = [&](meeting_point where) {
      return true_of(ranks, [&](int rank) { return group->meet(where, rank, rank != sick); });
    };
    EXPECT_EQ(meet(meeting_point::after_construction), 0);
    EXPECT_EQ(true_of(ranks, [&](int rank) { return group->meet(meeting_point::after_steps, rank, true); }), ranks);
  }
}

TEST(thread_group, a_meeting_that_is_called_off_keeps_nobody) {
  constexpr int ranks = 16;
  const auto group = make_thread_group(ranks);
  // The last rank does not come; whoever comes before or after the call gets the same answer.
  EXPECT_EQ(true_of(ranks,
                    [&](int rank) {
                      if (rank != ranks - 1) return group->meet(meeting_point::before_recovery, rank, true);
                      group->call_off(meeting_point::before_recovery);
                      return false;
                    }),
            0);
  EXPECT_FALSE(group->meet(meeting_point::before_recovery, ranks - 1, true));
}

TEST(thread_group, a_meeting_that_has_ended_cannot_be_called_off) {
  const auto group = make_thread_group(2);
  EXPECT_EQ(true_of(2, [&](int rank) { return group->meet(meeting_point::after_steps, rank, true); }), 2);
  group->call_off(meeting_point::after_steps);
  EXPECT_TRUE(group->meet(meeting_point::after_steps, 0, true));
}

TEST(thread_group, has_all_ranks_and_backends_here) {
  constexpr int ranks = 3;
  const auto group = make_thread_group(ranks);
  EXPECT_FALSE(group->of_processes());
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_TRUE(group->is_here(rank));
    EXPECT_EQ(group->backend(rank)->rank(), rank);
    EXPECT_EQ(group->backend(rank)->size(), ranks);
  }
}

TEST(thread_group, makes_one_group_of_backends_for_each_recovery) {
  const auto group = make_thread_group(2);
  const auto first = group->backend_before(3, 0);
  const auto second = group->backend_before(3, 1);
  const auto later = group->backend_before(4, 0);
  EXPECT_EQ(first->rank(), 0);
  EXPECT_EQ(second->rank(), 1);
  EXPECT_EQ(first->group_id(), second->group_id());
  EXPECT_NE(first->group_id(), group->backend(0)->group_id());
  EXPECT_NE(first->group_id(), later->group_id());
}

/// The group of rank 2 of 4, and what a supervisor has of it.
struct group_of_process {
  group_of_process() : group_of_process(make_stream()) {}
  explicit group_of_process(stream_ends ends)
      : rank_side(std::move(ends.here)), supervisor(std::make_unique<control_channel>(std::move(ends.there))) {}

  control_channel rank_side;
  std::unique_ptr<control_channel> supervisor;
  kept_backends backends;
  process_group group{rank_side, backends, 2, 4, 1};
};

TEST(process_group, has_its_own_rank_here) {
  const group_of_process process;
  EXPECT_TRUE(process.group.of_processes());
  for (const int rank : {0, 1, 3, 4}) EXPECT_FALSE(process.group.is_here(rank)) << rank;
  EXPECT_TRUE(process.group.is_here(2));
}

TEST(process_group, waits_for_the_supervisor_to_end_a_meeting) {
  for (const bool well : {false, true}) {
    group_of_process process;
    EXPECT_EQ(true_of(2,
                      [&](int number) {
                        if (number == 0) return process.group.meet(meeting_point::after_steps, 2, well);
                        const auto met = receive_one(*process.supervisor);
                        EXPECT_EQ(met, json({{"is", "met"}, {"where", 4}, {"rank", 2}, {"well", well}}));
                        process.group.end(meeting_point::after_steps, well);
                        return well;
                      }),
              well ? 2 : 0);
    EXPECT_TRUE(process.group.has_ended(meeting_point::after_steps));
    EXPECT_FALSE(process.group.has_ended(meeting_point::after_recovery));
  }
}

TEST(process_group, calls_off_once_and_not_what_has_ended) {
  group_of_process process;
  process.group.end(meeting_point::before_construction, true);
  process.group.call_off(meeting_point::before_construction);
  process.group.call_off(meeting_point::after_construction);
  process.group.call_off(meeting_point::after_construction);
  process.group.call_off(meeting_point::after_steps);
  EXPECT_EQ(receive_at_least(*process.supervisor, 2),
            std::vector<json>({{{"is", "off"}, {"where", 1}}, {{"is", "off"}, {"where", 4}}}));
  EXPECT_TRUE(process.group.meet(meeting_point::before_construction, 2, true));
  EXPECT_FALSE(process.group.meet(meeting_point::after_construction, 2, true));
}

TEST(process_group, nobody_waits_when_the_supervisor_is_gone) {
  group_of_process process;
  process.supervisor = nullptr;
  EXPECT_FALSE(process.group.meet(meeting_point::after_steps, 2, true));
}

TEST(rendezvous, travels) {
  const rendezvous_choice sent{false, "switchyard-1-2-life3", "host7", 29'501};
  const auto received = parse_rendezvous(rendezvous_json(sent));
  EXPECT_FALSE(received.one_host);
  EXPECT_EQ(received.name, sent.name);
  EXPECT_EQ(received.host, sent.host);
  EXPECT_EQ(received.port, sent.port);
  EXPECT_THROW((void)parse_rendezvous({{"name", "x"}}), json::exception);
}

}  // namespace
}  // namespace switchyard::harness
