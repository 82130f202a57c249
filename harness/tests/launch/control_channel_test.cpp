// SPDX-License-Identifier: Apache-2.0
// Messages arrive whole or not at all, however the stream cuts them, and an end of the stream is noticed.
#include "control_channel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "channel_ends.hpp"

namespace switchyard::harness {
namespace {

using nlohmann::json;
using bytes = std::vector<std::uint8_t>;

/// One side is a channel, the other the stream that it reads from and writes to.
struct half_channel {
  half_channel() : half_channel(make_stream()) {}
  explicit half_channel(stream_ends ends) : channel(std::move(ends.here)), raw(std::move(ends.there)) {}

  control_channel channel;
  unique_descriptor raw;
};

struct whole_channel {
  whole_channel() : whole_channel(make_stream()) {}
  explicit whole_channel(stream_ends ends) : here(std::move(ends.here)), there(std::move(ends.there)) {}

  control_channel here;
  control_channel there;
};

const json plain_message{
    {"is", "beat"}, {"position", -1}, {"texts", {"a", "", "\n"}}, {"none", nullptr}, {"big", ~0ULL}};

TEST(control_channel, messages_arrive_in_both_directions) {
  whole_channel pair;
  EXPECT_TRUE(pair.here.receive().empty());
  pair.here.send(plain_message);
  pair.there.send({{"is", "quit"}});
  EXPECT_EQ(receive_one(pair.there), plain_message);
  EXPECT_EQ(receive_one(pair.here), json({{"is", "quit"}}));
  EXPECT_TRUE(pair.there.receive().empty());
}

TEST(control_channel, several_messages_come_at_once_and_in_order) {
  whole_channel pair;
  constexpr int count = 50;
  for (int i = 0; i < count; ++i) pair.here.send({{"number", i}});
  const auto all = receive_at_least(pair.there, count);
  ASSERT_EQ(all.size(), std::size_t{count});
  for (int i = 0; i < count; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], json({{"number", i}}));
}

TEST(control_channel, an_empty_object_is_a_message) {
  whole_channel pair;
  pair.here.send(json::object());
  EXPECT_EQ(receive_one(pair.there), json::object());
}

TEST(control_channel, the_length_stands_in_front_most_significant_byte_first) {
  half_channel half;
  half.channel.send(plain_message);
  const auto expected = framed(json::to_cbor(plain_message));
  bytes sent(expected.size() + 1);
  ASSERT_EQ(::recv(half.raw.get(), sent.data(), sent.size(), 0), static_cast<ssize_t>(expected.size()));
  sent.pop_back();
  EXPECT_EQ(sent, expected);
}

TEST(control_channel, a_message_that_comes_byte_by_byte_comes_with_its_last_byte) {
  half_channel half;
  auto stream = framed(json::to_cbor(plain_message));
  const auto second = framed(json::to_cbor(json::object()));
  stream.insert(stream.end(), second.begin(), second.end());
  const auto first_ends = stream.size() - second.size();
  for (std::size_t i = 0; i < stream.size(); ++i) {
    write_bytes(half.raw, {&stream[i], 1});
    const auto found = half.channel.receive();
    if (i + 1 != first_ends && i + 1 != stream.size()) {
      EXPECT_TRUE(found.empty()) << "behind byte " << i;
      continue;
    }
    ASSERT_EQ(found.size(), 1U) << "behind byte " << i;
    EXPECT_EQ(found[0], i + 1 == first_ends ? plain_message : json::object());
  }
}

TEST(control_channel, a_piece_of_the_next_message_waits_for_the_rest) {
  half_channel half;
  const auto message = framed(json::to_cbor(plain_message));
  auto stream = message;
  stream.insert(stream.end(), message.begin(), message.begin() + 7);
  write_bytes(half.raw, stream);
  EXPECT_EQ(half.channel.receive(), std::vector{plain_message});
  write_bytes(half.raw, std::span(message).subspan(7));
  EXPECT_EQ(half.channel.receive(), std::vector{plain_message});
}

TEST(control_channel, large_messages_and_bytes_arrive) {
  whole_channel pair;
  bytes large(10'000'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  const json message{{"bytes", json::binary(large)}, {"none", json::binary({})}, {"text", std::string(300, 'x')}};
  std::thread sender([&] { pair.here.send(message); });
  const auto found = receive_one(pair.there);
  sender.join();
  ASSERT_TRUE(found.at("bytes").is_binary());
  const bytes& found_bytes = found.at("bytes").get_binary();
  EXPECT_TRUE(found_bytes == large);
  EXPECT_TRUE(found == message);
}

TEST(control_channel, threads_that_send_at_once_keep_messages_whole) {
  whole_channel pair;
  constexpr int each_sends = 200;
  const auto send_all = [&](int thread) {
    // Longer than what a socket takes at once, now and then.
    for (int i = 0; i < each_sends; ++i) {
      pair.here.send({{"thread", thread},
                      {"number", i},
                      {"filling", std::string(i % 20 == 0 ? 300'000U : 100U, static_cast<char>('a' + thread))}});
    }
  };
  std::thread one([&] { send_all(0); });
  std::thread other([&] { send_all(1); });
  const auto all = receive_at_least(pair.there, 2 * each_sends);
  one.join();
  other.join();
  ASSERT_EQ(all.size(), std::size_t{2 * each_sends});
  std::array<int, 2> next{0, 0};
  for (const auto& message : all) {
    const auto thread = message.at("thread").get<std::size_t>();
    EXPECT_EQ(message.at("number"), next.at(thread)++);
    const auto filling = message.at("filling").get<std::string>();
    EXPECT_EQ(filling.find_first_not_of(static_cast<char>('a' + thread)), std::string::npos);
  }
}

TEST(control_channel, what_was_sent_before_the_end_is_received_before_it) {
  half_channel half;
  const auto message = framed(json::to_cbor(plain_message));
  write_bytes(half.raw, message);
  write_bytes(half.raw, message);
  write_bytes(half.raw, std::span(message).first(9));  // cut short by the end
  half.raw = unique_descriptor();
  EXPECT_EQ(half.channel.receive().size(), 2U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(thrown_by<channel_error>([&] { (void)half.channel.receive(); }), "the other side is gone");
  }
}

TEST(control_channel, an_end_without_a_message_is_noticed) {
  half_channel half;
  half.raw = unique_descriptor();
  EXPECT_EQ(thrown_by<channel_error>([&] { (void)half.channel.receive(); }), "the other side is gone");
}

TEST(control_channel, what_is_no_message_is_refused) {
  const json list{1, 2, 3};
  auto cut = json::to_cbor(plain_message);
  cut.pop_back();
  auto longer = json::to_cbor(plain_message);
  longer.push_back(0);
  for (const auto& garbage : {bytes{'G', 'E', 'T', ' '}, bytes{0xFF, 0xFF, 0xFF, 0xFF}, framed({}), framed({0xFF}),
                              framed(json::to_cbor(list)), framed(json::to_cbor(json("text"))),
                              framed(json::to_cbor(json())), framed(cut), framed(longer)}) {
    half_channel half;
    write_bytes(half.raw, garbage);
    EXPECT_EQ(thrown_by<channel_error>([&] { (void)half.channel.receive(); }), "what has come is no message")
        << testing::PrintToString(garbage);
  }
}

TEST(control_channel, the_largest_length_is_waited_for_and_one_more_is_garbage) {
  const auto length_alone = [](std::uint32_t length) {
    return bytes{static_cast<std::uint8_t>(length >> 24), static_cast<std::uint8_t>(length >> 16),
                 static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)};
  };
  half_channel waits;
  write_bytes(waits.raw, length_alone(most_message_bytes));
  EXPECT_TRUE(waits.channel.receive().empty());
  half_channel refuses;
  write_bytes(refuses.raw, length_alone(most_message_bytes + 1));
  EXPECT_THROW((void)refuses.channel.receive(), channel_error);
}

TEST(control_channel, nothing_can_be_sent_to_a_side_that_has_closed) {
  half_channel half;
  half.raw = unique_descriptor();
  EXPECT_EQ(thrown_by<channel_error>([&] { half.channel.send(plain_message); }),
            "a message cannot be sent: Broken pipe");
}

// More than the socket takes, so that the first part of the message is sent: the limit is for all of it.
TEST(control_channel, a_side_that_never_reads_is_given_up_and_gets_no_other_message) {
  auto ends = make_stream();
  constexpr std::chrono::milliseconds limit{300};
  control_channel channel(std::move(ends.here), limit);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(thrown_by<channel_error>([&] {
              channel.send({{"text", std::string(8'000'000, 'x')}});
            }),
            "a message cannot be sent: the other side does not take it");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, limit);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_THROW(channel.send(json::object()), channel_error);
  // The other side finds an end where the rest should be, and not the beginning of another message.
  control_channel there(std::move(ends.there));
  EXPECT_EQ(thrown_by<channel_error>([&] { (void)there.receive(); }), "the other side is gone");
  EXPECT_TRUE(channel.receive().empty());
}

TEST(control_channel, sockets_that_do_not_block_are_waited_for_as_well) {
  std::array<int, 2> sockets{-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()), 0);
  control_channel here{unique_descriptor(sockets[0])};
  control_channel there{unique_descriptor(sockets[1])};
  std::thread sender([&] { here.send({{"text", std::string(5'000'000, 'x')}}); });
  EXPECT_EQ(receive_one(there).at("text").get<std::string>().size(), 5'000'000U);
  sender.join();
}

}  // namespace
}  // namespace switchyard::harness
