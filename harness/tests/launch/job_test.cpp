// SPDX-License-Identifier: Apache-2.0
// Rank 0 takes in those that are of its job, names those that do not fit, and lets strangers go.
#include "switchyard/harness/job.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "job_ends.hpp"
#include "rank_link.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;

const json welcomed{{"is", "welcome"}};

TEST(job, of_one_host_comes_together_and_is_let_go) {
  constexpr int size = 4;
  gathering_rank zero(size, size);
  std::vector<std::future<void>> agents;
  for (int rank = 1; rank < size; ++rank) {
    agents.push_back(
        std::async(std::launch::async, [rank, &zero] { serve_as_agent(process_of_job(rank, size, zero.port())); }));
  }
  {
    auto job = zero.result();
    EXPECT_TRUE(job.one_host);
    EXPECT_EQ(job.num_hosts, 1);
    EXPECT_EQ(job.ranks_per_host, size);
    EXPECT_EQ(job.links.take().size(), std::size_t{size});
  }
  for (auto& each : agents) EXPECT_NO_THROW(each.get());  // they are told to finish
}

TEST(job, of_one_process_waits_for_nobody) {
  gathering_rank zero(1);
  auto job = zero.result();
  EXPECT_TRUE(job.one_host);
  EXPECT_EQ(job.links.take().size(), 1U);
}

TEST(job, of_several_hosts_meets_at_the_port_behind) {
  gathering_rank zero(3);
  const auto second = zero.join(join_of(2, 3));
  EXPECT_EQ(receive_one(*second), welcomed);
  const auto first = zero.join(join_of(1, 3));
  EXPECT_EQ(receive_one(*first), welcomed);
  auto job = zero.result();
  EXPECT_FALSE(job.one_host);
  EXPECT_EQ(job.num_hosts, 3);
  EXPECT_EQ(job.ranks_per_host, 1);
  EXPECT_EQ(job.rendezvous_host, local_address);
  EXPECT_EQ(job.rendezvous_port, zero.port() + 1);
  const auto links = job.links.take();
  ASSERT_EQ(links.size(), 3U);
  links[2]->start();
  EXPECT_EQ(receive_one(*second), json({{"is", "start"}, {"life", 1}}));
}

TEST(job, a_rendezvous_port_that_is_taken_is_named) {
  gathering_rank zero(2);
  const auto taken = listen_at(rendezvous_port_of(zero.port()));
  const auto first = zero.join(join_of(1, 2));
  EXPECT_EQ(zero.failure(),
            "port " + std::to_string(zero.port() + 1) + ", at which ranks of several hosts meet, is taken");
}

TEST(job, one_that_does_not_fit_is_named_here_and_there) {
  struct unfit {
    json change;
    std::string problem;
  };
  for (const auto& [change, problem] : {
           unfit{{{"identity", {{"commit", "b"}, {"seed", 1}}}},
                 R"(rank 1 does not fit: commit is "b" there, "a" here)"},
           unfit{{{"identity", {{"commit", "a"}}}}, "rank 1 does not fit: seed is not known there, 1 here"},
           unfit{{{"size", 4}}, "rank 1 is of 4 processes, rank 0 of 3"},
           unfit{{{"rank", 3}}, "rank 3 is none of 1 .. 2"},
           unfit{{{"rank", 0}}, "rank 0 is none of 1 .. 2"},
           unfit{{{"rank", -1}}, "rank -1 is none of 1 .. 2"},
           unfit{{{"rank", 2}}, "rank 2 is there twice"},
       }) {
    gathering_rank zero(3);
    const auto second = zero.join(join_of(2, 3));
    EXPECT_EQ(receive_one(*second), welcomed);
    auto join = join_of(1, 3);
    join.update(change);
    const auto odd = zero.join(join);
    EXPECT_EQ(receive_one(*odd), json({{"is", "turned_away"}, {"reason", problem}}));
    EXPECT_EQ(zero.failure(), problem);
  }
}

TEST(job, one_of_another_job_is_turned_away_and_the_others_are_waited_for) {
  gathering_rank zero(2);
  auto join = join_of(1, 2);
  join["job"] = "day";
  for (int i = 0; i < 2; ++i) {
    const auto stranger = zero.join(join);
    EXPECT_EQ(receive_one(*stranger), json({{"is", "turned_away"}, {"reason", "rank 1 is of another job"}}));
  }
  const auto first = zero.join(join_of(1, 2));
  EXPECT_EQ(receive_one(*first), welcomed);
  EXPECT_EQ(zero.result().num_hosts, 2);
}

TEST(job, strangers_that_say_anything_are_let_go) {
  gathering_rank zero(2);
  const auto silent = zero.connect();
  const auto hesitates = zero.connect();
  write_bytes(hesitates, std::vector<std::uint8_t>{0, 0});
  { const auto goes_at_once = zero.connect(); }
  const std::string request = "GET / HTTP/1.1\r\n\r\n";
  control_channel browser(zero.connect());
  ASSERT_EQ(::send(browser.descriptor(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  EXPECT_THROW((void)receive_at_least(browser, 1), channel_error);
  auto lacking = join_of(1, 2);
  lacking.erase("size");
  for (const auto& message :
       {json::object(), json({{"is", "hello"}}), json({{"is", 1}}), json({{"is", "join"}}), lacking}) {
    const auto odd = zero.join(message);
    EXPECT_THROW((void)receive_at_least(*odd, 1), channel_error) << message;
  }
  const auto first = zero.join(join_of(1, 2));
  EXPECT_EQ(receive_one(*first), welcomed);
  EXPECT_EQ(zero.result().num_hosts, 2);
}

TEST(job, ranks_that_do_not_come_in_time_are_named) {
  gathering_rank zero(4, 1, std::chrono::milliseconds(300));
  EXPECT_EQ(zero.failure(), "ranks that did not come within 300 ms: 1, 2, 3");
  // Of these one has come before rank 0 looks, so that nothing depends on how fast it is.
  auto listener = listen_at(0);
  control_channel second(connect_to(local_address, port_of(listener), patient, {}));
  second.send(join_of(2, 4));
  auto process = process_of_job(0, 4, port_of(listener));
  process.limit = std::chrono::milliseconds(500);
  EXPECT_EQ(thrown_by<environment_error>([&] { (void)gather_job(process, listener.release()); }),
            "ranks that did not come within 500 ms: 1, 3");
  EXPECT_EQ(receive_one(second), welcomed);
  EXPECT_THROW((void)receive_at_least(second, 1), channel_error) << "it is told by the end of its connection";
}

TEST(job, gathering_stops_when_it_is_asked_to) {
  auto process = process_of_job(0, 2, 0);
  process.stop_requested = [] { return true; };
  EXPECT_EQ(thrown_by<environment_error>([&] { (void)gather_job(process, listen_at(0).release()); }),
            "stopped while ranks were coming together");
}

TEST(job, a_port_that_is_taken_is_named) {
  const auto taken = listen_at(0);
  const auto port = port_of(taken);
  EXPECT_EQ(thrown_by<environment_error>([&] { (void)gather_job(process_of_job(0, 2, port)); }),
            "port " + std::to_string(port) + " cannot be listened at: Address already in use");
  EXPECT_FALSE(is_port_free(port));
}

TEST(job, ports_in_a_row_are_free_and_the_first_is_had) {
  std::uint16_t port = 0;
  const unique_descriptor listener(listen_at_free_ports(port));
  EXPECT_EQ(port_of(listener), port);
  EXPECT_GE(port, 20'000);
  EXPECT_LT(port, 30'000);
  EXPECT_FALSE(is_port_free(port));
}

TEST(job, ranks_that_do_not_lie_in_blocks_are_named) {
  struct placed {
    int rank;
    int local_rank;
    int local_size;
    const char* host;
  };
  const std::string here = ": ranks must lie in blocks of one size, here 2, on their hosts";
  struct unfit {
    std::vector<placed> others;
    std::string problem;
  };
  // Rank 0 is the first of two of its host, which is no other's here.
  for (const auto& [others, problem] : {
           unfit{{{1, 1, 2, "b"}, {2, 0, 2, "b"}, {3, 1, 2, "b"}}, "rank 1 is rank 1 of 2 of its host"},
           unfit{{{1, 0, 2, "b"}, {2, 1, 2, "b"}, {3, 1, 2, "b"}}, "rank 1 is rank 0 of 2 of its host"},
           unfit{{{1, 0, 1, "b"}, {2, 0, 2, "c"}, {3, 1, 2, "c"}}, "rank 1 is rank 0 of 1 of its host"},
       }) {
    gathering_rank zero(4, 2);
    std::vector<std::unique_ptr<control_channel>> agents;
    for (const auto& each : others) {
      auto join = join_of(each.rank, 4);
      join.update({{"local_rank", each.local_rank}, {"local_size", each.local_size}, {"host", each.host}});
      agents.push_back(zero.join(join));
      EXPECT_EQ(receive_one(*agents.back()), welcomed);
    }
    EXPECT_EQ(zero.failure(), problem + here);
  }
}

}  // namespace
}  // namespace switchyard::harness
