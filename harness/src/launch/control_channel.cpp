// SPDX-License-Identifier: Apache-2.0
#include "control_channel.hpp"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace switchyard::harness {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr int most_pieces = 64;  // before others are looked after

std::uint32_t length_at(const std::vector<std::uint8_t>& bytes, std::size_t place) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length = length << 8 | bytes[place + i];
  return length;
}

bool wait_until_writable(int socket, std::chrono::steady_clock::time_point give_up) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - std::chrono::steady_clock::now());
  if (left.count() <= 0) return false;
  pollfd one{socket, POLLOUT, 0};
  (void)::poll(&one, 1, static_cast<int>(left.count()));
  return true;
}

}  // namespace

control_channel::control_channel(unique_descriptor socket, std::chrono::milliseconds send_limit)
    : socket_(std::move(socket)), send_limit_(send_limit) {}

void control_channel::send(const nlohmann::json& message) {
  std::vector<std::uint8_t> bytes(length_bytes);
  nlohmann::json::to_cbor(message, bytes);
  const auto length = static_cast<std::uint32_t>(bytes.size() - length_bytes);
  for (std::size_t i = 0; i < length_bytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(length >> (8 * (length_bytes - 1 - i)));
  }
  const std::lock_guard lock(sending_);
  const auto give_up = std::chrono::steady_clock::now() + send_limit_;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto now = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (now >= 0) {
      sent += static_cast<std::size_t>(now);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_until_writable(socket_.get(), give_up)) fail_to_send("the other side does not take it");
    } else if (errno != EINTR) {
      fail_to_send(std::strerror(errno));
    }
  }
}

bool control_channel::is_taken() const {
  int unsent = 0;
  return ::ioctl(socket_.get(), SIOCOUTQ, &unsent) != 0 || unsent == 0;
}

void control_channel::fail_to_send(const char* why) {
  const auto text = std::string("a message cannot be sent: ") + why;
  // A part of it may have been: nothing that is sent later would be understood.
  (void)::shutdown(socket_.get(), SHUT_WR);
  throw channel_error(text);
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
