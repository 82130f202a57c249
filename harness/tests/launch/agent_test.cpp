// SPDX-License-Identifier: Apache-2.0
// The process that starts a rank for a supervisor elsewhere: how it joins, and what it makes of what it is told.
#include "agent.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "job_ends.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;

/// serve_as_agent() for rank 1 of 2, on a thread of its own.
class serving_agent {
 public:
  explicit serving_agent(
      std::uint16_t port, const std::function<void(job_process&)>& change = [](job_process&) {}) {
    auto process = process_of_job(1, 2, port);
    change(process);
    served_ = std::async(std::launch::async, [process] { serve_as_agent(process); });
  }
  /// Why it gave up.
  [[nodiscard]] std::string failure() {
    return thrown_by<environment_error>([this] { served_.get(); });
  }
  void finish() { EXPECT_NO_THROW(served_.get()); }

 private:
  std::future<void> served_;
};

TEST(serve_as_agent, joins_with_its_place_and_ends_when_told_to) {
  const fake_rank_zero zero;
  serving_agent agent(zero.port());
  const auto channel = zero.accept();
  auto join = receive_one(*channel);
  EXPECT_FALSE(join.at("host").get<std::string>().empty());
  join.erase("host");
  auto expected = join_of(1, 2);
  expected.update({{"local_rank", 1}, {"local_size", 2}});
  expected.erase("host");
  EXPECT_EQ(join, expected);
  channel->send({{"is", "welcome"}});
  channel->send({{"is", "finish"}});
  agent.finish();
}

TEST(serve_as_agent, orders_for_a_process_that_is_not_there_are_let_be) {
  const fake_rank_zero zero;
  serving_agent agent(zero.port());
  const auto channel = zero.accept();
  channel->send({{"is", "welcome"}});
  channel->send({{"is", "kill"}, {"life", 1}});
  channel->send({{"is", "pass"}, {"life", 0}, {"message", {{"is", "quit"}}}});
  channel->send({{"is", "finish"}});
  agent.finish();
  EXPECT_EQ(receive_one(*channel).at("is"), "join");
  EXPECT_THROW((void)receive_at_least(*channel, 1), channel_error) << "and nothing more was said";
}

TEST(serve_as_agent, says_why_it_was_turned_away) {
  const fake_rank_zero zero;
  serving_agent agent(zero.port());
  const auto channel = zero.accept();
  channel->send({{"is", "turned_away"}, {"reason", "rank 1 is there twice"}});
  EXPECT_EQ(agent.failure(), "rank 0 has turned this process away: rank 1 is there twice");
}

TEST(serve_as_agent, notices_that_rank_0_is_lost) {
  for (const bool welcome : {false, true}) {
    const fake_rank_zero zero;
    serving_agent agent(zero.port());
    auto channel = zero.accept();
    EXPECT_EQ(receive_one(*channel).at("is"), "join");
    if (welcome) channel->send({{"is", "welcome"}});
    channel = nullptr;
    EXPECT_EQ(agent.failure(), "rank 0 is lost: the other side is gone");
  }
}

TEST(serve_as_agent, gives_up_where_nobody_listens_or_answers) {
  const auto briefly = [](job_process& process) { process.limit = std::chrono::milliseconds(300); };
  std::uint16_t port = 0;
  { const unique_descriptor closed(listen_at_free_ports(port)); }
  serving_agent alone(port, briefly);
  EXPECT_EQ(alone.failure(),
            "rank 0 was not found at 127.0.0.1 port " + std::to_string(port) + ": nobody listens there");
  const fake_rank_zero zero;
  serving_agent unanswered(zero.port(), briefly);
  EXPECT_EQ(unanswered.failure(), "rank 0 does not answer");
}

TEST(serve_as_agent, stops_when_it_is_asked_to) {
  std::atomic<bool> stop{true};
  const auto stops = [&](job_process& process) { process.stop_requested = [&] { return stop.load(); }; };
  std::uint16_t port = 0;
  { const unique_descriptor closed(listen_at_free_ports(port)); }
  serving_agent alone(port, stops);
  EXPECT_EQ(alone.failure(), "stopped while rank 0 was looked for at 127.0.0.1 port " + std::to_string(port));
  const fake_rank_zero zero;
  serving_agent unanswered(zero.port(), stops);
  EXPECT_EQ(unanswered.failure(), "stopped");
  stop = false;
  serving_agent welcome(zero.port(), stops);
  (void)zero.accept();  // of the one before
  const auto channel = zero.accept();
  channel->send({{"is", "welcome"}});
  stop = true;
  EXPECT_EQ(welcome.failure(), "stopped");
}

TEST(serve_as_agent, what_is_no_message_ends_it) {
  for (const auto& nonsense : {json::object(), json({{"is", "turned_away"}}), json({{"is", 4}})}) {
    const fake_rank_zero zero;
    serving_agent agent(zero.port());
    const auto channel = zero.accept();
    channel->send(nonsense);
    const std::string expected = "rank 0 says what is no message: ";
    EXPECT_EQ(agent.failure().substr(0, expected.size()), expected) << nonsense;
  }
}

/// An agent whose rank is a shell, and the supervisor's side of it.
class agent_of_shell {
 public:
  explicit agent_of_shell(const std::string& script) : agent_of_shell(script, make_stream()) {}
  ~agent_of_shell() {
    to_agent->send({{"is", "finish"}});
    served_.get();
  }
  agent_of_shell(const agent_of_shell&) = delete;
  agent_of_shell& operator=(const agent_of_shell&) = delete;

  std::unique_ptr<control_channel> to_agent;

 private:
  agent_of_shell(const std::string& script, stream_ends ends)
      : to_agent(std::make_unique<control_channel>(std::move(ends.here))),
        served_(std::async(std::launch::async, [script, socket = std::move(ends.there)]() mutable {
          control_channel channel(std::move(socket));
          agent(channel, {"/bin/sh", {"sh", "-c", script}}, {1, 1, 2}).serve({}, {});
        })) {}

  std::future<void> served_;
};

TEST(agent, tells_how_its_process_ended_and_what_it_said_last) {
  const agent_of_shell shell("echo begins; echo ends >&2; exit 3");
  for (const int life : {1, 2}) {
    shell.to_agent->send({{"is", "start"}, {"life", life}});
    EXPECT_EQ(receive_one(*shell.to_agent),
              json({{"is", "ended"}, {"life", life}, {"how", "exited with 3"}, {"words", "ends"}}));
  }
}

TEST(agent, kills_its_process_and_no_later_one) {
  const agent_of_shell shell("exec sleep 600");
  shell.to_agent->send({{"is", "start"}, {"life", 1}});
  shell.to_agent->send({{"is", "kill"}, {"life", 1}});
  EXPECT_EQ(receive_one(*shell.to_agent), json({{"is", "ended"}, {"life", 1}, {"how", "was ended"}, {"words", ""}}));
  shell.to_agent->send({{"is", "start"}, {"life", 2}});
  shell.to_agent->send({{"is", "kill"}, {"life", 1}});  // late
  shell.to_agent->send({{"is", "kill"}, {"life", 2}});
  EXPECT_EQ(receive_one(*shell.to_agent).at("life"), 2);
}

TEST(agent, tells_when_its_process_does_not_run) {
  const agent_of_shell shell("kill -STOP $$; echo goes on; exit 0");
  shell.to_agent->send({{"is", "start"}, {"life", 5}});
  EXPECT_EQ(receive_one(*shell.to_agent), json({{"is", "stopped"}, {"life", 5}, {"stopped", true}}));
}

TEST(agent, a_program_that_cannot_be_started_has_ended) {
  auto ends = make_stream();
  control_channel here(std::move(ends.here));
  auto served = std::async(std::launch::async, [socket = std::move(ends.there)]() mutable {
    control_channel channel(std::move(socket));
    agent(channel, {"/nowhere/program", {"program"}}, {0, 0, 1}).serve({{{"is", "start"}, {"life", 1}}}, {});
  });
  EXPECT_EQ(receive_one(here).at("how"), "exited with 127");
  here.send({{"is", "finish"}});
  served.get();
}

}  // namespace
}  // namespace switchyard::harness
