// SPDX-License-Identifier: Apache-2.0
#include "control_channel.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace switchyard::harness {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr int most_pieces = 64;  // before others are looked after
constexpr timeval send_limit{10, 0};

std::uint32_t length_at(const std::vector<std::uint8_t>& bytes, std::size_t place) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length = length << 8 | bytes[place + i];
  return length;
}

}  // namespace

control_channel::control_channel(unique_descriptor socket) : socket_(std::move(socket)) {
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  const bool blocks = flags >= 0 && ::fcntl(socket_.get(), F_SETFL, flags & ~O_NONBLOCK) == 0;  // or it had no limit
  if (!blocks || ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &send_limit, sizeof send_limit) != 0) {
    throw channel_error(std::string("a control channel cannot be set up: ") + std::strerror(errno));
  }
}

void control_channel::send(const nlohmann::json& message) {
  std::vector<std::uint8_t> bytes(length_bytes);
  nlohmann::json::to_cbor(message, bytes);
  const auto length = static_cast<std::uint32_t>(bytes.size() - length_bytes);
  for (std::size_t i = 0; i < length_bytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(length >> (8 * (length_bytes - 1 - i)));
  }
  const std::lock_guard lock(sending_);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto now = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) throw channel_error(std::string("a message cannot be sent: ") + std::strerror(errno));
    sent += static_cast<std::size_t>(now);
  }
}

bool control_channel::is_taken() const {
  int unsent = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

std::vector<nlohmann::json> control_channel::receive() {
  std::array<std::uint8_t, 65536> piece;
  bool closed = false;
  for (int pieces = 0; pieces < most_pieces; ++pieces) {
    const auto now = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (now <= 0) {
      closed = true;
      break;
    }
    received_.insert(received_.end(), piece.begin(), piece.begin() + now);
  }
  auto messages = take_whole_messages();
  if (closed && messages.empty()) throw channel_error("the other side is gone");
  return messages;
}

std::vector<nlohmann::json> control_channel::take_whole_messages() {
  std::vector<nlohmann::json> messages;
  std::size_t taken = 0;
  while (received_.size() - taken >= length_bytes) {
    const auto length = length_at(received_, taken);
    if (length > most_message_bytes) throw garbled_channel("what has come is no message");
    if (received_.size() - taken - length_bytes < length) break;
    const auto first = received_.begin() + static_cast<std::ptrdiff_t>(taken + length_bytes);
    auto message = nlohmann::json::from_cbor(first, first + length, true, false);
    if (!message.is_object()) throw garbled_channel("what has come is no message");
    messages.push_back(std::move(message));
    taken += length_bytes + length;
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(taken));
  return messages;
}

}  // namespace switchyard::harness
