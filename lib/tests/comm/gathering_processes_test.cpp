// SPDX-License-Identifier: Apache-2.0
// Backends whose ranks are processes, once they are made: gatherings, ranks that end, stop or stay away, and parts.
#include <gtest/gtest.h>

#include "comm/rank_processes.hpp"

namespace switchyard {
namespace {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;

class gathering_processes : public testing::TestWithParam<socket_kind> {};

void require_gathers(comm_backend& backend, int rounds) {
  const auto size = static_cast<std::size_t>(backend.size());
  for (int round = 0; round < rounds; ++round) {
    const auto all = gather_int(backend, 1000 * round + backend.rank(), seconds(40));
    for (std::size_t peer = 0; peer < size; ++peer) {
      require(all[peer] == 1000 * round + static_cast<int>(peer), "gathered something else");
    }
  }
}

TEST_P(gathering_processes, gather_among_2_3_16_and_72) {
  for (const int size : {2, 3, 16, 72}) {
    const meeting_place place(GetParam());
    rank_processes ranks(size, [&](int rank) {
      const auto backend = place.make(rank, size);
      require(backend->rank() == rank && backend->size() == size, "the backend is another's");
      require_gathers(*backend, size > 16 ? 5 : 50);
      std::vector<group_id> ids(static_cast<std::size_t>(size));
      const auto own = backend->group_id();
      backend->allgather(std::as_bytes(std::span(&own, 1)), std::as_writable_bytes(std::span(ids)), seconds(40));
      for (const auto& id : ids) require(id == own && id != group_id{}, "the group has two names");
    });
    ranks.expect_all_well();
  }
}

TEST_P(gathering_processes, a_rank_that_stays_away_is_named_by_all_within_the_bound) {
  const meeting_place place(GetParam());
  const shared<std::atomic<int>> done;
  rank_processes ranks(4, [&](int rank) {
    const auto backend = place.make(rank, 4);
    if (rank == 2) return await(*done.operator->(), 3);  // it is there, and has better things to do
    const auto before = now_ns();
    require_missing(set_of({2}), [&] { backend->barrier(milliseconds(500)); });
    require_at_once(before);
    require_missing(set_of({2}), [&] { backend->barrier(seconds(40)); });  // broken for good, and says so again
    ++*done.operator->();
  });
  ranks.expect_all_well();
}

TEST_P(gathering_processes, a_rank_that_is_killed_is_named_by_all_at_once) {
  struct notes {
    std::atomic<int> running{0};
    std::atomic<std::int64_t> killed_ns{0};
  };
  const meeting_place place(GetParam());
  const shared<notes> told;
  rank_processes ranks(5, [&](int rank) {
    const auto backend = place.make(rank, 5);
    ++told->running;
    require_missing(set_of({3}), [&] {
      for (;;) require_gathers(*backend, 1);
    });
    require_at_once(told->killed_ns);
  });
  await(told->running, 5);
  std::this_thread::sleep_for(milliseconds(50));
  told->killed_ns = now_ns();
  ranks.send_signal(3, SIGKILL);
  for (int rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(ranks.outcome(rank), rank == 3 ? "ended by signal 9" : "") << "rank " << rank;
  }
}

TEST_P(gathering_processes, a_rank_that_leaves_is_named_by_those_who_wait_for_it) {
  const meeting_place place(GetParam());
  rank_processes ranks(3, [&](int rank) {
    auto backend = place.make(rank, 3);
    backend->barrier(seconds(40));
    if (rank == 1) return backend.reset();
    const auto before = now_ns();
    require_missing(set_of({1}), [&] { backend->barrier(seconds(40)); });
    require_at_once(before);
  });
  ranks.expect_all_well();
}

TEST_P(gathering_processes, a_rank_that_is_stopped_is_named_at_the_deadline) {
  const meeting_place place(GetParam());
  const shared<std::atomic<int>> running;
  const shared<std::atomic<int>> stopped;
  rank_processes ranks(4, [&](int rank) {
    const auto backend = place.make(rank, 4);
    ++*running.operator->();
    if (rank == 1) return std::this_thread::sleep_for(seconds(60));
    await(*stopped.operator->(), 1);
    const auto before = now_ns();
    // Also where there is more to send to it than it takes while it stands still.
    const std::vector<std::byte> mine(2'000'000);
    std::vector<std::byte> all(4 * mine.size());
    require_missing(set_of({1}), [&] { backend->allgather(mine, all, milliseconds(700)); });
    require_at_once(before);
  });
  await(*running.operator->(), 4);
  ranks.send_signal(1, SIGSTOP);
  ++*stopped.operator->();
  for (const int rank : {0, 2, 3}) EXPECT_EQ(ranks.outcome(rank), "") << "rank " << rank;
}

TEST_P(gathering_processes, a_part_needs_no_rank_that_is_dead_nor_rank_0) {
  const meeting_place place(GetParam());
  const shared<std::atomic<int>> running;
  const shared<std::atomic<int>> killed;
  const starting_line line;
  rank_processes ranks(6, [&](int rank) {
    const auto backend = place.make(rank, 6);
    ++*running.operator->();
    if (rank == 0 || rank == 4) return std::this_thread::sleep_for(seconds(60));
    await(*killed.operator->(), 1);
    // With the dead ones there is no meeting, which is told at once; with a stopped one, at the deadline.
    const auto before = now_ns();
    require_missing(set_of({4}), [&] { (void)backend->part_of(set_of({1, 2, 3, 4, 5}), seconds(40)); });
    require_at_once(before);
    line.await_all(4);
    require_missing(set_of({0}), [&] { (void)backend->part_of(set_of({0, 1, 2, 3, 5}), milliseconds(800)); });
    for (int round = 0; round < 20; ++round) {
      const auto part = backend->part_of(set_of({1, 2, 3, 5}), seconds(40));
      require(part->size() == 4 && part->name_of(part->rank()) == rank, "the part is another's");
      require(part->group_id() == backend->group_id(), "the part has another name");
      require_gathers(*part, 3);
    }
  });
  await(*running.operator->(), 6);
  ranks.send_signal(4, SIGKILL);
  ranks.send_signal(0, SIGSTOP);
  ++*killed.operator->();
  for (const int rank : {1, 2, 3, 5}) EXPECT_EQ(ranks.outcome(rank), "") << "rank " << rank;
}

/// Attempts of different lengths, begun at different times: whoever gives up comes again, until all are there at once.
TEST_P(gathering_processes, parts_are_formed_however_attempts_overlap) {
  const meeting_place place(GetParam());
  rank_processes ranks(5, [&](int rank) {
    const auto backend = place.make(rank, 5);
    for (int round = 0; round < 5; ++round) {
      std::this_thread::sleep_for(milliseconds(rank * 23));
      std::shared_ptr<comm_backend> part;
      for (int attempt = 0; part == nullptr; ++attempt) {
        require(attempt < 500, "no attempt has succeeded");
        try {
          part = backend->part_of(set_of({0, 1, 2, 3, 4}), milliseconds(17 + 11 * rank + 3 * attempt));
          require_gathers(*part, 1);
        } catch (const peer_fault&) {
          part.reset();
        }
      }
      // Nobody may leave for the next round while others are still in this one: they would take it for a failure.
      backend->barrier(seconds(40));
      require_gathers(*part, 1);
      backend->barrier(seconds(40));
    }
  });
  ranks.expect_all_well();
}

TEST_P(gathering_processes, hold_no_more_descriptors_after_200_rounds) {
  const meeting_place place(GetParam());
  rank_processes ranks(3, [&](int rank) {
    const int at_first = num_open_descriptors();
    auto backend = place.make(rank, 3);
    const int before = num_open_descriptors();
    require(before == at_first + 2, "a backend of 3 ranks holds " + std::to_string(before - at_first));
    for (int round = 0; round < 200; ++round) {
      require_gathers(*backend, 1);
      const auto part = backend->part_of(set_of({0, 1, 2}), seconds(40));
      part->barrier(seconds(40));
      if (!backend->passes_descriptors()) continue;
      for (const int each : part->allgather_descriptors(0, seconds(40))) (void)::close(each);
    }
    require(num_open_descriptors() == before, "descriptors have become more");
    backend->barrier(seconds(40));
    backend.reset();
    require(num_open_descriptors() == at_first, "descriptors are left");
  });
  ranks.expect_all_well();
}

INSTANTIATE_TEST_SUITE_P(over, gathering_processes, testing::Values(socket_kind::unix_socket, socket_kind::tcp),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace switchyard
