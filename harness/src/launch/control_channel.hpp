// SPDX-License-Identifier: Apache-2.0
// Messages between the supervisor of a group and a rank's process, over a stream socket: each a JSON value as CBOR
// behind its length in four bytes, most significant first. Which messages there are stands in messages.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "system/unique_descriptor.hpp"

namespace switchyard::harness {

/// The other side is gone, or does not take what it is sent.
class channel_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What has come is no message.
class garbled_channel : public channel_error {
 public:
  using channel_error::channel_error;
};

/// Larger messages are taken for garbage. An outcome has some hundred bytes for each step and rank.
inline constexpr std::uint32_t most_message_bytes = std::uint32_t{256} << 20;

/// One side. send() from any thread; receive() from one.
class control_channel {
 public:
  /// Of a connected stream socket. A message that cannot be sent within `send_limit`, all of it, is given up.
  explicit control_channel(unique_descriptor socket, std::chrono::milliseconds send_limit = std::chrono::seconds(10));

  /// For poll(): readable when receive() has something to do.
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  /// Throws channel_error, and from then on always.
  void send(const nlohmann::json& message);
  /// Whether the other side has taken all that was sent.
  [[nodiscard]] bool is_taken() const;
  /// What has come since the last call, in order, or the first of it; waits for nothing. Throws channel_error when the
  /// other side has closed and all that it sent has been received, garbled_channel for what is no message.
  [[nodiscard]] std::vector<nlohmann::json> receive();

 private:
  [[nodiscard]] std::vector<nlohmann::json> take_whole_messages();

  [[noreturn]] void fail_to_send(const char* why);

  unique_descriptor socket_;
  std::chrono::milliseconds send_limit_;
  std::mutex sending_;
  std::vector<std::uint8_t> received_;  // not yet a whole message
};

}  // namespace switchyard::harness
