// SPDX-License-Identifier: Apache-2.0
// What every comm backend does, whatever its ranks are; here all are threads.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>

#include "comm/backend_maker.hpp"
#include "support/host_group.hpp"
#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::gather_int;
using test::set_of;

struct backend_kind {
  const char* name;
  bool passes_descriptors;
  std::function<std::vector<std::shared_ptr<comm_backend>>(int)> make;
  friend void PrintTo(const backend_kind& kind, std::ostream* out) { *out << kind.name; }
};

class comm_backends : public testing::TestWithParam<backend_kind> {};

TEST_P(comm_backends, gather_in_rank_order_round_after_round) {
  const auto backends = GetParam().make(5);
  test::on_every_rank(5, [&](int rank) {
    auto& backend = *backends[static_cast<std::size_t>(rank)];
    for (int round = 0; round < 200; ++round) {
      const auto all = gather_int(backend, 10 * round + rank, seconds(20));
      for (int peer = 0; peer < 5; ++peer) ASSERT_EQ(all[static_cast<std::size_t>(peer)], 10 * round + peer);
      if (round % 3 == 0) backend.barrier(seconds(20));
    }
  });
}

TEST_P(comm_backends, all_ranks_know_one_group_by_one_name) {
  const auto one = GetParam().make(2);
  const auto other = GetParam().make(2);
  EXPECT_EQ(one[0]->group_id(), one[1]->group_id());
  EXPECT_NE(one[0]->group_id(), other[0]->group_id());
  EXPECT_EQ(one[1]->rank(), 1);
  EXPECT_EQ(one[1]->size(), 2);
}

TEST_P(comm_backends, name_the_ranks_that_do_not_come) {
  const auto backends = GetParam().make(4);
  test::on_every_rank(4, [&](int rank) {
    if (rank == 1 || rank == 3) return;
    try {
      backends[static_cast<std::size_t>(rank)]->barrier(milliseconds(100));
      ADD_FAILURE() << "barrier without ranks 1 and 3";
    } catch (const peer_fault& e) {
      EXPECT_NE(std::string(e.what()).find("1, 3"), std::string::npos) << e.what();
      EXPECT_EQ(e.record().missing, set_of({1, 3}));
      EXPECT_EQ(e.record().timeout_ns, 100'000'000U);
    }
  });
  // Late comers are told at once, not left alone.
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THROW(backends[1]->barrier(seconds(50)), peer_fault);
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(20));
}

TEST_P(comm_backends, refuse_an_array_of_another_size) {
  const auto backends = GetParam().make(1);
  std::byte one{};
  std::array<std::byte, 2> two{};
  EXPECT_THROW(backends[0]->allgather(std::span(&one, 1), two, seconds(1)), invalid_argument);
}

TEST_P(comm_backends, parts_of_different_sizes_are_an_error_on_every_rank) {
  const auto backends = GetParam().make(2);
  test::on_every_rank(2, [&](int rank) {
    const std::vector<std::byte> mine(static_cast<std::size_t>(rank) + 1);
    std::vector<std::byte> all(mine.size() * 2);
    EXPECT_THROW(backends[static_cast<std::size_t>(rank)]->allgather(mine, all, seconds(20)), invalid_argument);
  });
}

TEST_P(comm_backends, a_part_meets_without_the_others_again_and_again) {
  const auto backends = GetParam().make(5);
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

TEST_P(comm_backends, a_part_that_somebody_missed_says_who_and_the_next_attempt_is_a_new_one) {
  const auto backends = GetParam().make(4);
  const auto members = set_of({1, 2, 3});
  test::on_every_rank(4, [&](int rank) {
    if (rank == 0 || rank == 2) return;
    auto& whole = *backends[static_cast<std::size_t>(rank)];
    for (int attempt = 0; attempt < 3; ++attempt) {
      try {
        whole.part_of(members, milliseconds(300))->barrier(milliseconds(100));
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

TEST_P(comm_backends, a_part_has_ranks_that_there_are_and_this_one) {
  const auto backends = GetParam().make(3);
  EXPECT_THROW((void)backends[0]->part_of(set_of({0, 3}), seconds(1)), invalid_argument);
  EXPECT_THROW((void)backends[0]->part_of(set_of({1, 2}), seconds(1)), invalid_argument);
  const auto alone = backends[2]->part_of(set_of({2}), seconds(1));
  EXPECT_EQ(gather_int(*alone, 7, seconds(1)), (std::vector{7}));
}

TEST_P(comm_backends, survive_parts_of_different_sizes) {
  const auto backends = GetParam().make(3);
  test::on_every_rank(3, [&](int rank) {
    auto& backend = *backends[static_cast<std::size_t>(rank)];
    for (int round = 0; round < 3; ++round) {
      const std::vector<std::byte> mine(rank == round ? 7 : 5);
      std::vector<std::byte> all(mine.size() * 3);
      EXPECT_THROW(backend.allgather(mine, all, seconds(20)), invalid_argument) << rank;
      EXPECT_EQ(gather_int(backend, rank, seconds(20)), (std::vector{0, 1, 2}));
    }
  });
}

TEST_P(comm_backends, gather_more_than_a_socket_holds) {
  const auto backends = GetParam().make(3);
  constexpr std::size_t bytes = 3'000'001;
  test::on_every_rank(3, [&](int rank) {
    const std::vector<std::byte> mine(bytes, static_cast<std::byte>(rank + 1));
    std::vector<std::byte> all(3 * bytes);
    for (int round = 0; round < 3; ++round) {
      backends[static_cast<std::size_t>(rank)]->allgather(mine, all, seconds(20));
      for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::byte>(i / bytes + 1)) << i;
    }
  });
}

TEST_P(comm_backends, of_one_rank_need_nobody) {
  const auto alone = GetParam().make(1)[0];
  EXPECT_EQ(gather_int(*alone, 3, milliseconds(1)), std::vector{3});
  EXPECT_EQ(gather_int(*alone->part_of(set_of({0}), milliseconds(1)), 4, milliseconds(1)), std::vector{4});
}

/// Parts that live at the same time, of the same ranks too, do not take each other's messages.
TEST_P(comm_backends, and_their_parts_live_side_by_side) {
  const auto backends = GetParam().make(3);
  test::on_every_rank(3, [&](int rank) {
    auto& whole = *backends[static_cast<std::size_t>(rank)];
    const auto everybody = set_of({0, 1, 2});
    const auto first = whole.part_of(everybody, seconds(20));
    const auto second = whole.part_of(everybody, seconds(20));
    for (int round = 0; round < 20; ++round) {
      const int base = 100 * round;
      EXPECT_EQ(gather_int(*second, base + rank, seconds(20)), (std::vector{base, base + 1, base + 2}));
      EXPECT_EQ(gather_int(whole, base + 10 + rank, seconds(20)), (std::vector{base + 10, base + 11, base + 12}));
      EXPECT_EQ(gather_int(*first, base + 20 + rank, seconds(20)), (std::vector{base + 20, base + 21, base + 22}));
    }
  });
}

/// Whole or broken, a backend says nothing of its parts.
TEST_P(comm_backends, that_are_broken_still_have_parts) {
  const auto backends = GetParam().make(4);
  test::on_every_rank(4, [&](int rank) {
    if (rank == 0) return;
    auto& whole = *backends[static_cast<std::size_t>(rank)];
    EXPECT_THROW(whole.barrier(milliseconds(100)), peer_fault);
    const auto part = whole.part_of(set_of({1, 2, 3}), seconds(20));
    EXPECT_EQ(gather_int(*part, rank, seconds(20)), (std::vector{1, 2, 3}));
    EXPECT_THROW(whole.barrier(milliseconds(100)), peer_fault);
  });
}

TEST_P(comm_backends, pass_descriptors_or_say_that_they_do_not) {
  const auto backends = GetParam().make(3);
  test::on_every_rank(3, [&](int rank) {
    auto& backend = *backends[static_cast<std::size_t>(rank)];
    ASSERT_EQ(backend.passes_descriptors(), GetParam().passes_descriptors);
    if (!backend.passes_descriptors()) {
      EXPECT_THROW((void)backend.allgather_descriptors(-1, seconds(20)), unsupported);
      return;
    }
    // Rank 1 gives none.
    unique_descriptor mine(rank == 1 ? -1 : ::memfd_create("test", MFD_CLOEXEC));
    for (int round = 0; round < 20; ++round) {
      const char letter = static_cast<char>('a' + rank + round);
      ASSERT_EQ(mine ? ::pwrite(mine.get(), &letter, 1, 0) : 1, 1);
      const auto all = backend.allgather_descriptors(mine.get(), seconds(20));
      ASSERT_EQ(all.size(), 3U);
      for (int peer = 0; peer < 3; ++peer) {
        const unique_descriptor theirs(all[static_cast<std::size_t>(peer)]);
        ASSERT_EQ(theirs.get() >= 0, peer != 1);
        if (!theirs) continue;
        ASSERT_NE(theirs.get(), mine.get());
        ASSERT_EQ(::fcntl(theirs.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        char read = 0;
        ASSERT_EQ(::pread(theirs.get(), &read, 1, 0), 1);
        ASSERT_EQ(read, 'a' + peer + round);
      }
      backend.barrier(seconds(20));
    }
  });
}

TEST_P(comm_backends, refuse_a_descriptor_that_is_not_open) {
  const auto backends = GetParam().make(1);
  if (GetParam().passes_descriptors) {
    EXPECT_THROW((void)backends[0]->allgather_descriptors(1'000'000, seconds(1)), invalid_argument);
  }
  EXPECT_EQ(gather_int(*backends[0], 3, seconds(1)), std::vector{3});
}

INSTANTIATE_TEST_SUITE_P(
    all_kinds, comm_backends,
    testing::Values(
        backend_kind{"in_process", true, [](int size) { return make_in_process_backends(size); }},
        backend_kind{"unix_socket", true,
                     [](int size) { return test::make_socket_backends(test::socket_kind::unix_socket, size); }},
        backend_kind{"tcp", false, [](int size) { return test::make_socket_backends(test::socket_kind::tcp, size); }}),
    [](const auto& kind) { return std::string(kind.param.name); });

TEST(in_process_backend, refuses_bad_sizes) {
  EXPECT_THROW(make_in_process_backends(0), invalid_argument);
  EXPECT_THROW(make_in_process_backends(max_ep_size + 1), invalid_argument);
}

TEST(socket_backend, refuses_what_breaks_its_rules) {
  const auto soon = seconds(1);
  EXPECT_THROW(make_unix_socket_backend({"test"}, {0, 0, soon, ""}), invalid_argument);
  EXPECT_THROW(make_unix_socket_backend({"test"}, {0, max_ep_size + 1, soon, ""}), invalid_argument);
  EXPECT_THROW(make_unix_socket_backend({"test"}, {2, 2, soon, ""}), invalid_argument);
  EXPECT_THROW(make_unix_socket_backend({"test"}, {-1, 2, soon, ""}), invalid_argument);
  EXPECT_THROW(make_unix_socket_backend({"test"}, {0, 1, seconds(0), ""}), invalid_argument);
  EXPECT_THROW(make_unix_socket_backend({""}, {0, 1, soon, ""}), invalid_argument);
  EXPECT_THROW(make_unix_socket_backend({std::string(most_unix_name_bytes + 1, 'x')}, {0, 1, soon, ""}),
               invalid_argument);
  EXPECT_NO_THROW(make_unix_socket_backend({std::string(most_unix_name_bytes, 'x')}, {0, 1, soon, ""}));
  EXPECT_THROW(make_tcp_backend({"", 29500, ""}, {0, 1, soon, ""}), invalid_argument);
  EXPECT_THROW(make_tcp_backend({"localhost", 0, ""}, {0, 1, soon, ""}), invalid_argument);
  EXPECT_THROW(make_tcp_backend({"localhost", 29500, std::string(most_host_bytes + 1, 'x')}, {0, 1, soon, ""}),
               invalid_argument);
}

}  // namespace
}  // namespace switchyard
