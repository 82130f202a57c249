// SPDX-License-Identifier: Apache-2.0
#include "comm/frame_stream.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace switchyard::comm {
namespace {

constexpr std::size_t read_bytes = 65536;

/// Room for one descriptor, aligned as the kernel wants it.
union one_descriptor {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> room;
};

}  // namespace

packed_frame pack(frame_header header, std::span<const std::byte> body) {
  header.body_bytes = body.size();
  const auto head = std::as_bytes(std::span(&header, 1));
  std::vector<std::byte> bytes;
  bytes.reserve(head.size() + body.size());
  bytes.insert(bytes.end(), head.begin(), head.end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

void frame_stream::end(const std::string& why) {
  if (!has_ended()) why_ended_ = why;
  unsent_.clear();
  incoming_.clear();
  descriptors_.clear();
  socket_ = {};
}

void frame_stream::send_raw(std::span<const std::byte> bytes) {
  send(std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()));
}

void frame_stream::send(packed_frame packed, std::shared_ptr<const unique_descriptor> descriptor) {
  if (has_ended()) return;
  unsent_.push_back({std::move(packed), 0, std::move(descriptor)});
  flush();
}

void frame_stream::flush() {
  throttled_ = false;
  while (!unsent_.empty()) {
    auto& next = unsent_.front();
    iovec part{const_cast<std::byte*>(next.bytes->data()) + next.sent, next.bytes->size() - next.sent};
    one_descriptor control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (next.descriptor) {
      message.msg_control = control.room.data();
      message.msg_controllen = control.room.size();
      auto* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int descriptor = next.descriptor->get();
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    const auto sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // So many descriptors of this user are on their way that the kernel wants some to arrive first.
      if (errno == ETOOMANYREFS) {
        throttled_ = true;
        return;
      }
      // The other side reads no more, but what it has sent is still to be read, and tells the end.
      unsent_.clear();
      return;
    }
    next.descriptor.reset();
    next.sent += static_cast<std::size_t>(sent);
    if (next.sent == next.bytes->size()) unsent_.pop_front();
  }
}

bool frame_stream::read_some() {
  std::array<std::byte, read_bytes> read;
  iovec part{read.data(), read.size()};
  one_descriptor control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.room.data();
  message.msg_controllen = control.room.size();
  const auto came = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (came < 0) {
    if (errno == EINTR) return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK) end(std::strerror(errno));
    return false;
  }
  incoming_.insert(incoming_.end(), read.begin(), read.begin() + came);
  // The kernel ends a read behind bytes that came with a descriptor, so there is at most one.
  const auto* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    descriptors_.emplace_back(descriptor);
  } else if ((message.msg_flags & MSG_CTRUNC) != 0) {
    descriptors_.emplace_back();
  }
  if (came == 0) end("the connection was closed");
  return static_cast<std::size_t>(came) == read.size();
}

std::vector<frame> frame_stream::receive() {
  std::vector<frame> frames;
  // Not for ever, where somebody sends faster than this rank reads: others want to be heard.
  bool more = true;
  for (int reads = 0; reads < 64 && more && !has_ended(); ++reads) {
    more = read_some();
    take_frames(frames);
  }
  return frames;
}

void frame_stream::take_frames(std::vector<frame>& frames) {
  std::size_t taken = 0;
  while (!has_ended() && incoming_.size() - taken >= sizeof(frame_header)) {
    const auto header = body_of<frame_header>(std::span(incoming_).subspan(taken));
    if (header.magic != frame_magic || header.body_bytes > most_body_bytes) {
      end("what came is no frame");
      return;
    }
    const auto bytes = static_cast<std::size_t>(header.body_bytes);
    if (incoming_.size() - taken - sizeof(frame_header) < bytes) break;
    const auto body = std::span(incoming_).subspan(taken + sizeof(frame_header), bytes);
    frame next{header, {body.begin(), body.end()}, {}, false};
    if (header.call == gather_call::descriptor && !descriptors_.empty()) {
      next.descriptor = std::move(descriptors_.front());
      next.lost_descriptor = !next.descriptor;
      descriptors_.pop_front();
    }
    frames.push_back(std::move(next));
    taken += sizeof(frame_header) + bytes;
  }
  incoming_.erase(incoming_.begin(), incoming_.begin() + static_cast<std::ptrdiff_t>(taken));
}

}  // namespace switchyard::comm
