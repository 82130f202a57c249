// SPDX-License-Identifier: Apache-2.0
// Frames over one connected stream socket. Nothing here waits: what cannot be sent yet is kept, what has not come whole
// is kept, and who uses it polls.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/wire.hpp"
#include "system/unique_descriptor.hpp"

namespace switchyard::comm {

struct frame {
  frame_header header;
  std::vector<std::byte> body;
  unique_descriptor descriptor;  ///< of a gathered one with gather_call::descriptor
  bool lost_descriptor = false;  ///< this process could have no more when it came
};

/// A frame as it travels, shared by all streams that it is sent over.
using packed_frame = std::shared_ptr<const std::vector<std::byte>>;
packed_frame pack(frame_header header, std::span<const std::byte> body);
template <class Body>
requires std::is_trivially_copyable_v<Body> packed_frame pack(frame_header header, const Body& body) {
  return pack(header, std::as_bytes(std::span(&body, 1)));
}

/// The beginning of a body as a plain struct; Body{} where the body is shorter.
template <class Body>
Body body_of(std::span<const std::byte> body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  Body value{};
  if (body.size() >= sizeof(Body)) std::memcpy(&value, body.data(), sizeof(Body));
  return value;
}

class frame_stream {
 public:
  /// `socket`: connected, or connecting, and non-blocking.
  explicit frame_stream(unique_descriptor socket) : socket_(std::move(socket)) {}

  /// Sends bytes that are no frame: a hello. Before any frame.
  void send_raw(std::span<const std::byte> bytes);
  /// Sends as much as goes, keeps the rest for flush(). `descriptor` goes with it, and is kept open until it has.
  void send(packed_frame packed, std::shared_ptr<const unique_descriptor> descriptor = {});
  void flush();
  /// All frames that have come whole. The stream may have ended behind them.
  std::vector<frame> receive();

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] bool has_unsent() const noexcept { return !unsent_.empty(); }
  /// The kernel takes no more descriptors for now, which no poll tells the end of.
  [[nodiscard]] bool is_throttled() const noexcept { return throttled_; }
  [[nodiscard]] bool has_ended() const noexcept { return !why_ended_.empty(); }
  [[nodiscard]] const std::string& why_ended() const noexcept { return why_ended_; }
  void end(const std::string& why);

 private:
  struct outgoing {
    packed_frame bytes;
    std::size_t sent = 0;
    std::shared_ptr<const unique_descriptor> descriptor;  ///< null: none, or already sent
  };
  /// Whether there may be more at once; what else there is poll tells.
  [[nodiscard]] bool read_some();
  void take_frames(std::vector<frame>& frames);

  unique_descriptor socket_;
  std::deque<outgoing> unsent_;
  std::vector<std::byte> incoming_;
  std::deque<unique_descriptor> descriptors_;  ///< that came before the frames they belong to; empty: one was lost
  bool throttled_ = false;
  std::string why_ended_;
};

}  // namespace switchyard::comm
