// SPDX-License-Identifier: Apache-2.0
// How processes find each other: late, again, beside strangers, and where it cannot be.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "comm/frame_stream.hpp"
#include "comm/hello.hpp"
#include "comm/rank_processes.hpp"
#include "comm/socket_domain.hpp"
#include "comm/stream_sockets.hpp"

namespace switchyard {
namespace {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;

class meeting_processes : public testing::TestWithParam<socket_kind> {};

std::unique_ptr<comm::socket_domain> domain_of(const meeting_place& place) {
  if (place.kind() == socket_kind::tcp) return comm::make_tcp_domain("127.0.0.1", place.port(), "");
  return comm::make_unix_domain(place.name());
}

/// Connects to rank 0 as soon as it is there.
unique_descriptor stranger_at(const meeting_place& place) {
  const auto domain = domain_of(place);
  for (;;) {
    std::string why;
    auto socket = domain->connect_to_rendezvous(why);
    if (socket) {
      pollfd waiting{socket.get(), POLLOUT, 0};
      (void)::poll(&waiting, 1, -1);
      if (comm::finish_connecting(socket.get(), why)) return socket;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// What rank 0 answers to a hello: the text of its refusal; empty when it ends the connection without one.
std::string answer_to(const meeting_place& place, const comm::hello& said) {
  comm::frame_stream stream(stranger_at(place));
  stream.send_raw(std::as_bytes(std::span(&said, 1)));
  while (!stream.has_ended()) {
    pollfd waiting{stream.socket(), POLLIN, 0};
    (void)::poll(&waiting, 1, -1);
    for (const auto& each : stream.receive()) {
      if (each.header.kind != comm::frame_kind::refused) continue;
      const auto* text = reinterpret_cast<const char*>(each.body.data()) + sizeof(comm::absence);
      return {text, each.body.size() - sizeof(comm::absence)};
    }
  }
  return {};
}

comm::hello hello_of(int rank, int size, const meeting_place& place) {
  comm::hello said;
  said.rank = rank;
  said.size = size;
  said.build = comm::build_number();
  said.proof = comm::digest_of("secret of " + place.name());
  return said;
}

TEST_P(meeting_processes, whoever_comes_late_is_awaited) {
  const meeting_place place(GetParam());
  rank_processes ranks(4, [&](int rank) {
    std::this_thread::sleep_for(milliseconds(rank == 0 ? 600 : rank == 2 ? 1200 : 0));
    place.make(rank, 4)->barrier(seconds(40));
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, a_rank_that_does_not_come_is_named_by_all_within_the_bound) {
  const meeting_place place(GetParam());
  const starting_line line;
  rank_processes ranks(5, [&](int rank) {
    if (rank == 3) return;
    line.await_all(4);
    const auto before = now_ns();
    require_missing(set_of({3}), [&] { (void)place.make(rank, 5, milliseconds(1000)); });
    require_at_once(before);
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, without_rank_0_the_others_name_it) {
  const meeting_place place(GetParam());
  rank_processes ranks(3, [&](int rank) {
    if (rank == 0) return;
    require_missing(set_of({0}), [&] { (void)place.make(rank, 3, milliseconds(500)); });
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, meet_in_a_new_attempt_after_one_that_failed) {
  const meeting_place place(GetParam());
  const starting_line line;
  rank_processes ranks(4, [&](int rank) {
    for (int attempt = 1; attempt <= 2; ++attempt) {
      line.await_all(4, attempt);
      if (rank == 2) continue;
      // Rank 0's time is up first, or last.
      const int more = 60 * (attempt == 1 ? rank : 3 - rank);
      require_missing(set_of({2}), [&] { (void)place.make(rank, 4, milliseconds(800 + more)); });
    }
    line.await_all(4, 3);
    place.make(rank, 4)->barrier(seconds(40));
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, a_run_that_was_killed_leaves_nothing_in_the_way) {
  const meeting_place place(GetParam());
  for (int run = 0; run < 3; ++run) {
    const shared<std::atomic<int>> running;
    rank_processes killed(3, [&](int rank) {
      ++*running.operator->();
      (void)place.make(rank, 4);  // wait for one that does not come, and are killed
    });
    await(*running.operator->(), 3);
    std::this_thread::sleep_for(milliseconds(20 * run));
    for (int rank = 0; rank < 3; ++rank) killed.send_signal(rank, SIGKILL);
    for (int rank = 0; rank < 3; ++rank) (void)killed.outcome(rank);
    rank_processes ranks(3, [&](int rank) { place.make(rank, 3)->barrier(seconds(40)); });
    ranks.expect_all_well();
  }
}

/// A rank of an earlier job, still trying, is turned away and told so; the new job does without it.
TEST_P(meeting_processes, a_rank_of_another_job_does_not_get_in) {
  const meeting_place place(GetParam());
  rank_processes ranks(4, [&](int process) {
    if (process == 3) {
      require_error<invalid_argument>("secret", [&] { (void)place.make({1, 5, seconds(40), "an earlier job"}); });
      return;
    }
    if (process == 2) std::this_thread::sleep_for(milliseconds(300));
    place.make(process, 3)->barrier(seconds(40));
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, another_size_is_told_to_all) {
  const meeting_place place(GetParam());
  rank_processes ranks(3, [&](int rank) {
    if (rank == 2) std::this_thread::sleep_for(milliseconds(300));
    const auto before = now_ns();
    require_error<invalid_argument>("size is 4 on rank 2 and 3 on rank 0",
                                    [&] { (void)place.make(rank, rank == 2 ? 4 : 3); });
    require_at_once(before);
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, the_same_rank_twice_is_told_to_all) {
  const meeting_place place(GetParam());
  rank_processes ranks(3, [&](int process) {
    require_error<invalid_argument>("two processes say that they are rank 1",
                                    [&] { (void)place.make(process == 0 ? 0 : 1, 3); });
  });
  ranks.expect_all_well();
}

TEST_P(meeting_processes, another_version_or_build_is_told_to_both_sides) {
  for (const bool other_version : {true, false}) {
    const meeting_place place(GetParam());
    const std::string text = other_version ? "the version of the wire is 2 on rank 1 and 1 on rank 0"
                                           : "the library is 255.0.3 on rank 1 and ";
    rank_processes ranks(2, [&](int process) {
      if (process == 0) return require_error<invalid_argument>(text, [&] { (void)place.make(0, 3); });
      auto said = hello_of(1, 3, place);
      if (other_version) said.version = comm::wire_version + 1;
      if (!other_version) said.build = (255U << 16) | 3U;
      const auto answer = answer_to(place, said);
      require(answer.find(text) != std::string::npos, "another answer: " + answer);
    });
    ranks.expect_all_well();
  }
}

TEST_P(meeting_processes, strangers_at_the_door_are_not_taken_for_ranks) {
  const meeting_place place(GetParam());
  const shared<std::atomic<int>> came;
  rank_processes ranks(5, [&](int process) {
    if (process < 3) {
      if (process == 2) await(*came.operator->(), 2);
      return place.make(process, 3)->barrier(seconds(40));
    }
    if (process == 3) {  // says nothing, or only begins, and stays
      const auto silent = stranger_at(place);
      const auto begun = stranger_at(place);
      require(::send(begun.get(), &comm::hello_magic, 4, MSG_NOSIGNAL) == 4, "send");
      ++*came.operator->();
      char nothing = 0;
      while (::recv(silent.get(), &nothing, 1, 0) < 0) std::this_thread::sleep_for(milliseconds(5));
      return;
    }
    for (int visit = 0; visit < 20; ++visit) {
      const std::string garbage(static_cast<std::size_t>(visit) * 17, 'x');
      (void)!::send(stranger_at(place).get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    }
    ++*came.operator->();
  });
  ranks.expect_all_well();
}

/// Where something else answers in rank 0's place: silent, talking, or hanging up.
TEST_P(meeting_processes, another_program_at_the_rendezvous_is_not_taken_for_rank_0) {
  for (const int manner : {0, 1, 2}) {
    const meeting_place place(GetParam());
    const auto listener = domain_of(place)->listen_at_rendezvous();
    ASSERT_TRUE(listener);
    rank_processes ranks(2, [&](int rank) {
      const auto before = now_ns();
      if (rank == 0) {
        require_error<invalid_argument>("is in use by another process", [&] { (void)place.make(0, 2); });
      } else {
        require_missing(set_of({0}), [&] { (void)place.make(1, 2, milliseconds(800)); });
      }
      require_at_once(before);
    });
    std::atomic<bool> over{false};
    std::thread program([&] {
      std::vector<unique_descriptor> kept;
      while (!over) {
        std::this_thread::sleep_for(milliseconds(2));
        auto visitor = comm::accept_one(listener.get());
        if (!visitor) continue;
        if (manner == 1)
          (void)!::send(visitor.get(), "220 some other service, ready to serve you well\r\n", 49, MSG_NOSIGNAL);
        if (manner != 2) kept.push_back(std::move(visitor));
      }
    });
    ranks.expect_all_well();
    over = true;
    program.join();
  }
}

TEST_P(meeting_processes, two_groups_meet_at_one_place_one_after_the_other) {
  const meeting_place place(GetParam());
  rank_processes ranks(3, [&](int rank) {
    const auto first = place.make(rank, 3);
    const auto second = place.make(rank, 3);
    require(first->group_id() != second->group_id(), "two groups have one name");
    second->barrier(seconds(40));
    first->barrier(seconds(40));
  });
  ranks.expect_all_well();
}

INSTANTIATE_TEST_SUITE_P(over, meeting_processes, testing::Values(socket_kind::unix_socket, socket_kind::tcp),
                         testing::PrintToStringParamName());

TEST(meeting_processes_of_users, do_not_trust_each_other) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const meeting_place place(socket_kind::unix_socket);
  const shared<std::atomic<int>> listening;
  rank_processes ranks(3, [&](int process) {
    if (process == 0) {  // another user is at the rendezvous
      require(::setuid(54321) == 0, "setuid");
      const auto listener = domain_of(place)->listen_at_rendezvous();
      require(static_cast<bool>(listener), "listen");
      ++*listening.operator->();
      await(*listening.operator->(), 3);
      return;
    }
    await(*listening.operator->(), 1);
    require_error<invalid_argument>("user 54321", [&] { (void)place.make(1, 2); });
    ++*listening.operator->();
  });
  ranks.expect_all_well();

  // And one that comes to rank 0 is not let in, whatever it knows.
  const meeting_place ours(socket_kind::unix_socket);
  rank_processes visited(2, [&](int process) {
    if (process == 0) return require_missing(set_of({1}), [&] { (void)ours.make(0, 2, seconds(1)); });
    require(::setuid(54321) == 0, "setuid");
    require(answer_to(ours, hello_of(1, 2, ours)).empty(), "rank 0 has answered");
  });
  visited.expect_all_well();
}

TEST(meeting_processes_over_tcp, meet_by_name_by_ipv6_and_by_addresses_that_they_give) {
  for (const char* host : {"localhost", "::1", "127.0.0.1"}) {
    const meeting_place place(socket_kind::tcp);
    if (std::string(host) == "::1") {
      const unique_descriptor six(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in6 loopback{};
      loopback.sin6_family = AF_INET6;
      loopback.sin6_addr = in6addr_loopback;
      if (::bind(six.get(), reinterpret_cast<const sockaddr*>(&loopback), sizeof(loopback)) != 0) continue;
    }
    rank_processes ranks(4, [&](int rank) {
      const auto backend =
          make_tcp_backend({host, place.port(), rank == 1 ? "localhost" : ""}, {rank, 4, seconds(40), ""});
      backend->barrier(seconds(40));
    });
    ranks.expect_all_well();
  }
}

TEST(meeting_processes_over_tcp, a_rank_whose_address_leads_nowhere_is_named) {
  const meeting_place place(socket_kind::tcp);
  rank_processes ranks(3, [&](int rank) {
    // Rank 1 tells an address at which it does not listen; rank 2 finds out, and tells the others.
    const auto before = now_ns();
    require_missing(set_of({1}), [&] {
      (void)make_tcp_backend({"127.0.0.1", place.port(), rank == 1 ? "nowhere.invalid" : ""},
                             {rank, 3, seconds(40), ""});
    });
    require_at_once(before);
  });
  ranks.expect_all_well();
}

}  // namespace
}  // namespace switchyard
