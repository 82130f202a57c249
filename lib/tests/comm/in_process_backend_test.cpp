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

}  // namespace
}  // namespace switchyard
