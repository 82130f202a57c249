// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "support/host_group.hpp"
#include "switchyard/comm_backend.hpp"

namespace switchyard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<int> gather_int(comm_backend& backend, int value, std::chrono::nanoseconds timeout) {
  std::vector<int> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)), timeout);
  return all;
}

TEST(in_process_backend, gathers_in_rank_order_round_after_round) {
  const auto backends = make_in_process_backends(5);
  test::on_every_rank(5, [&](int rank) {
    auto& backend = *backends[static_cast<std::size_t>(rank)];
    for (int round = 0; round < 200; ++round) {
      const auto all = gather_int(backend, 10 * round + rank, seconds(20));
      for (int peer = 0; peer < 5; ++peer) ASSERT_EQ(all[static_cast<std::size_t>(peer)], 10 * round + peer);
      if (round % 3 == 0) backend.barrier(seconds(20));
    }
  });
}

TEST(in_process_backend, all_ranks_know_one_group_by_one_name) {
  const auto one = make_in_process_backends(2);
  const auto other = make_in_process_backends(2);
  EXPECT_EQ(one[0]->group_id(), one[1]->group_id());
  EXPECT_NE(one[0]->group_id(), other[0]->group_id());
  EXPECT_EQ(one[1]->rank(), 1);
  EXPECT_EQ(one[1]->size(), 2);
}

TEST(in_process_backend, names_the_ranks_that_do_not_come) {
  const auto backends = make_in_process_backends(4);
  test::on_every_rank(4, [&](int rank) {
    if (rank == 1 || rank == 3) return;
    try {
      backends[static_cast<std::size_t>(rank)]->barrier(milliseconds(100));
      ADD_FAILURE() << "barrier without ranks 1 and 3";
    } catch (const peer_fault& e) {
      EXPECT_NE(std::string(e.what()).find("1, 3"), std::string::npos) << e.what();
    }
  });
  // Late comers are told at once, not left alone.
  EXPECT_THROW(backends[1]->barrier(seconds(60)), peer_fault);
}

TEST(in_process_backend, refuses_bad_sizes) {
  EXPECT_THROW(make_in_process_backends(0), invalid_argument);
  EXPECT_THROW(make_in_process_backends(max_ep_size + 1), invalid_argument);
  const auto backends = make_in_process_backends(1);
  std::byte one{};
  std::array<std::byte, 2> two{};
  EXPECT_THROW(backends[0]->allgather(std::span(&one, 1), two, seconds(1)), invalid_argument);
}

TEST(in_process_backend, parts_of_different_sizes_are_an_error_on_every_rank) {
  const auto backends = make_in_process_backends(2);
  test::on_every_rank(2, [&](int rank) {
    const std::vector<std::byte> mine(static_cast<std::size_t>(rank) + 1);
    std::vector<std::byte> all(mine.size() * 2);
    EXPECT_THROW(backends[static_cast<std::size_t>(rank)]->allgather(mine, all, seconds(20)), invalid_argument);
  });
}

rank_set set_of(std::initializer_list<int> ranks) {
  rank_set set{};
  for (const int rank : ranks) insert(set, rank);
  return set;
}

TEST(in_process_backend, a_part_meets_without_the_others_again_and_again) {
  const auto backends = make_in_process_backends(5);
  test::on_every_rank(5, [&](int rank) {
    auto& whole = *backends[static_cast<std::size_t>(rank)];
    if (rank == 2) return;
    for (int round = 0; round < 50; ++round) {
      const auto part = whole.part_of(set_of({0, 1, 3, 4}), seconds(20));
      ASSERT_EQ(part->size(), 4);
      ASSERT_EQ(part->rank(), rank > 2 ? rank - 1 : rank);
      EXPECT_EQ(part->group_id(), whole.group_id());
      EXPECT_EQ(part->name_of(part->rank()), rank);
      EXPECT_EQ(gather_int(*part, 10 * round + rank, seconds(20)),
                (std::vector{10 * round, 10 * round + 1, 10 * round + 3, 10 * round + 4}));
      part->barrier(seconds(20));
      if (rank > 2) {  // and a part of the part
        const auto pair = part->part_of(set_of({2, 3}), seconds(20));
        EXPECT_EQ(gather_int(*pair, rank, seconds(20)), (std::vector{3, 4}));
      }
    }
  });
}

TEST(in_process_backend, a_part_that_somebody_missed_says_who_and_the_next_attempt_is_a_new_one) {
  const auto backends = make_in_process_backends(4);
  const auto members = set_of({1, 2, 3});
  test::on_every_rank(4, [&](int rank) {
    if (rank == 0 || rank == 2) return;
    auto& whole = *backends[static_cast<std::size_t>(rank)];
    for (int attempt = 0; attempt < 3; ++attempt) {
      try {
        whole.part_of(members, seconds(1))->barrier(milliseconds(100));
        ADD_FAILURE() << "barrier without rank 2";
      } catch (const peer_fault& e) {
        EXPECT_NE(std::string(e.what()).find("rank(s) 2 did"), std::string::npos) << e.what();
        EXPECT_EQ(e.record().missing, set_of({2}));
      }
    }
  });
  test::on_every_rank(4, [&](int rank) {
    if (rank == 0) return;
    const auto part = backends[static_cast<std::size_t>(rank)]->part_of(members, seconds(20));
    EXPECT_EQ(gather_int(*part, rank, seconds(20)), (std::vector{1, 2, 3}));
  });
}

TEST(in_process_backend, a_part_has_ranks_that_there_are_and_this_one) {
  const auto backends = make_in_process_backends(3);
  EXPECT_THROW((void)backends[0]->part_of(set_of({0, 3}), seconds(1)), invalid_argument);
  EXPECT_THROW((void)backends[0]->part_of(set_of({1, 2}), seconds(1)), invalid_argument);
  const auto alone = backends[2]->part_of(set_of({2}), seconds(1));
  EXPECT_EQ(gather_int(*alone, 7, seconds(1)), (std::vector{7}));
}

}  // namespace
}  // namespace switchyard
