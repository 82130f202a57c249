// SPDX-License-Identifier: Apache-2.0
// The supervisor's side of a process that an agent starts for it.
#include "remote_rank.hpp"

#include <gtest/gtest.h>

#include <future>

#include "channel_ends.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;

/// A remote rank, and its agent's side of the channel.
struct rank_and_agent {
  rank_and_agent() : rank_and_agent(make_stream()) {}
  explicit rank_and_agent(stream_ends ends)
      : agent(std::make_unique<control_channel>(std::move(ends.there))),
        rank(std::make_unique<remote_rank>(std::make_unique<control_channel>(std::move(ends.here)))) {}

  std::unique_ptr<control_channel> agent;
  std::unique_ptr<remote_rank> rank;
};

json ended_of(int life, const std::string& how) {
  return {{"is", "ended"}, {"life", life}, {"how", how}, {"words", "last words"}};
}
json passed_of(int life, const json& message) { return {{"is", "pass"}, {"life", life}, {"message", message}}; }

TEST(remote_rank, lives_from_its_start_to_its_end) {
  const rank_and_agent pair;
  EXPECT_FALSE(pair.rank->lives());
  pair.rank->start();
  EXPECT_TRUE(pair.rank->lives());
  EXPECT_EQ(receive_one(*pair.agent), json({{"is", "start"}, {"life", 1}}));
  pair.agent->send(ended_of(1, "exited with 3"));
  EXPECT_TRUE(pair.rank->look().empty());
  EXPECT_FALSE(pair.rank->lives());
  EXPECT_EQ(pair.rank->end(), "exited with 3");
  EXPECT_EQ(pair.rank->last_words(), "last words");
  pair.rank->start();
  EXPECT_TRUE(pair.rank->lives());
  EXPECT_EQ(pair.rank->end(), "");
  EXPECT_EQ(pair.rank->last_words(), "");
}

TEST(remote_rank, messages_go_both_ways_and_those_of_earlier_lives_are_forgotten) {
  const rank_and_agent pair;
  pair.rank->start();
  pair.rank->send({{"is", "quit"}});
  EXPECT_EQ(receive_at_least(*pair.agent, 2).at(1), passed_of(1, {{"is", "quit"}}));
  pair.agent->send(ended_of(1, "exited"));
  (void)pair.rank->look();
  pair.rank->start();
  pair.agent->send(passed_of(1, {{"number", 1}}));
  pair.agent->send(passed_of(2, {{"number", 2}}));
  pair.agent->send(ended_of(1, "exited"));
  pair.agent->send(passed_of(2, {{"number", 3}}));
  EXPECT_EQ(pair.rank->look(), std::vector<json>({{{"number", 2}}, {{"number", 3}}}));
  EXPECT_TRUE(pair.rank->lives());
}

TEST(remote_rank, is_stopped_for_as_long_as_its_agent_says_so) {
  const rank_and_agent pair;
  pair.rank->start();
  for (const bool stopped : {true, false, true}) {
    pair.agent->send({{"is", "stopped"}, {"life", 1}, {"stopped", stopped}});
    (void)pair.rank->look();
    EXPECT_EQ(pair.rank->is_stopped(), stopped);
  }
  pair.agent->send(ended_of(1, "exited"));
  (void)pair.rank->look();
  EXPECT_FALSE(pair.rank->is_stopped()) << "what has ended is not stopped";
}

TEST(remote_rank, kill_returns_when_the_agent_says_that_it_is_gone) {
  const rank_and_agent pair;
  pair.rank->kill(std::chrono::steady_clock::now() + std::chrono::seconds(10));  // nothing to kill
  pair.rank->start();
  auto agent = std::async(std::launch::async, [&pair] {
    const auto orders = receive_at_least(*pair.agent, 2);
    pair.agent->send(passed_of(1, {{"is", "beat"}}));
    pair.agent->send(ended_of(1, "was ended"));
    return orders;
  });
  pair.rank->kill(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  EXPECT_FALSE(pair.rank->lives());
  EXPECT_EQ(agent.get(), std::vector<json>({{{"is", "start"}, {"life", 1}}, {{"is", "kill"}, {"life", 1}}}));
  pair.rank->kill(std::chrono::steady_clock::now() + std::chrono::seconds(10));
}

TEST(remote_rank, cannot_be_reached_without_its_agent) {
  rank_and_agent pair;
  pair.rank->start();
  pair.agent->send(passed_of(1, {{"is", "beat"}}));
  pair.agent = nullptr;
  EXPECT_EQ(pair.rank->look().size(), 1U) << "what came before is heard";
  EXPECT_TRUE(pair.rank->lives());
  EXPECT_TRUE(pair.rank->look().empty());
  EXPECT_FALSE(pair.rank->lives());
  EXPECT_EQ(pair.rank->end(), "cannot be reached any more (the other side is gone)");
  EXPECT_TRUE(pair.rank->descriptors().empty());
  pair.rank->send({{"is", "quit"}});
  pair.rank->kill(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  EXPECT_EQ(thrown_by<channel_error>([&] { pair.rank->start(); }), "the process that starts it is gone");
}

TEST(remote_rank, an_agent_that_says_what_is_no_message_is_lost) {
  for (const auto& nonsense : {json::object(), json({{"is", "ended"}, {"life", 1}}), json({{"life", "one"}})}) {
    const rank_and_agent pair;
    pair.rank->start();
    pair.agent->send(nonsense);
    EXPECT_TRUE(pair.rank->look().empty());
    EXPECT_FALSE(pair.rank->lives()) << nonsense;
  }
}

TEST(remote_rank, tells_its_agent_to_finish) {
  rank_and_agent pair;
  pair.rank = nullptr;
  EXPECT_EQ(receive_one(*pair.agent), json({{"is", "finish"}}));
}

}  // namespace
}  // namespace switchyard::harness
