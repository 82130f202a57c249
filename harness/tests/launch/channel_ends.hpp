// SPDX-License-Identifier: Apache-2.0
// Two ends of a stream, of which a test has both.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "control_channel.hpp"

namespace switchyard::harness {

/// What a test waits for at most: nothing that works comes near it, on a loaded machine either.
inline constexpr std::chrono::seconds patient{20};

struct stream_ends {
  unique_descriptor here;
  unique_descriptor there;
};

inline stream_ends make_stream() {
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) ADD_FAILURE() << "no sockets";
  return {unique_descriptor(sockets[0]), unique_descriptor(sockets[1])};
}

/// All of them, whatever they are.
inline void write_bytes(const unique_descriptor& to, std::span<const std::uint8_t> bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto now = ::send(to.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) {
      ADD_FAILURE() << "not written";
      return;
    }
    sent += static_cast<std::size_t>(now);
  }
}

/// `body` behind its length.
inline std::vector<std::uint8_t> framed(const std::vector<std::uint8_t>& body) {
  const auto length = static_cast<std::uint32_t>(body.size());
  std::vector<std::uint8_t> bytes{static_cast<std::uint8_t>(length >> 24), static_cast<std::uint8_t>(length >> 16),
                                  static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)};
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

/// Waits until at least so many have come. Throws what receive() throws.
inline std::vector<nlohmann::json> receive_at_least(control_channel& from, std::size_t count) {
  std::vector<nlohmann::json> all;
  const auto give_up = std::chrono::steady_clock::now() + patient;
  while (all.size() < count && std::chrono::steady_clock::now() < give_up) {
    pollfd one{from.descriptor(), POLLIN, 0};
    (void)::poll(&one, 1, 100);
    for (auto& each : from.receive()) all.push_back(std::move(each));
  }
  return all;
}

/// The next one. An empty object, and a failure, where none comes.
inline nlohmann::json receive_one(control_channel& from) {
  const auto all = receive_at_least(from, 1);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? nlohmann::json::object() : all.front();
}

/// What the exception of a call says; empty, and a failure, where it throws none of that type.
template <typename Expected, typename Call>
std::string thrown_by(Call&& call) {
  try {
    call();
  } catch (const Expected& thrown) {
    return thrown.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace switchyard::harness
