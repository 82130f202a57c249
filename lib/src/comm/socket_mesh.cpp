// SPDX-License-Identifier: Apache-2.0
#include "comm/socket_mesh.hpp"

#include <algorithm>
#include <utility>

namespace switchyard::comm {
namespace {

/// When the kernel takes no more descriptors, only another try tells whether it does again.
constexpr std::chrono::milliseconds descriptor_pause(1);

}  // namespace

void socket_mesh::add(int peer, std::unique_ptr<frame_stream> stream) { at(peer).stream = std::move(stream); }

void socket_mesh::send(int peer, const packed_frame& packed, std::shared_ptr<const unique_descriptor> descriptor) {
  if (has(peer)) at(peer).stream->send(packed, std::move(descriptor));
}

void socket_mesh::watch(poll_set& polls) {
  for (int peer = 0; peer < size(); ++peer) {
    if (!has(peer) || is_gone(peer)) continue;
    auto& stream = *at(peer).stream;
    if (stream.is_throttled()) stream.flush();
    if (stream.is_throttled()) polls.wake_after(descriptor_pause);
    const bool wants_to_send = stream.has_unsent() && !stream.is_throttled();
    polls.watch(stream.socket(), static_cast<short>(wants_to_send ? POLLIN | POLLOUT : POLLIN),
                [this, peer] { serve(peer); });
  }
}

void socket_mesh::wait(const deadline& until) {
  poll_set polls;
  watch(polls);
  polls.wait(until);
}

void socket_mesh::serve(int peer) {
  auto& stream = *at(peer).stream;
  stream.flush();
  for (auto& next : stream.receive()) arrive(peer, std::move(next));
}

void socket_mesh::arrive(int peer, frame&& next) {
  auto& state = at(peer);
  const auto membership = next.header.membership;
  const bool expected = expects(peer, membership);
  switch (next.header.kind) {
    case frame_kind::joining: break;
    case frame_kind::ready:
    case frame_kind::gathered: {
      const bool asked_for = std::any_of(state.inbox.begin(), state.inbox.end(), [&](const frame& each) {
        return each.header.kind == frame_kind::joining && each.header.membership == membership;
      });
      if (!expected && !asked_for) return;
      break;
    }
    case frame_kind::leaving: {
      if (expected) break;
      // It has asked for a part and given that up; kept is who it said was missing, the last time for these ranks.
      const auto members = body_of<departure>(next.body).members;
      std::erase_if(state.inbox, [&](const frame& each) {
        return each.header.membership == membership ||
               (each.header.kind == frame_kind::leaving && !expects(peer, each.header.membership) &&
                body_of<departure>(each.body).members == members);
      });
      break;
    }
    default: state.stream->end("it has sent what only a rendezvous has"); return;
  }
  state.inbox.push_back(std::move(next));
}

void socket_mesh::forget(int peer, std::uint64_t membership) {
  at(peer).expected.erase(membership);
  std::erase_if(at(peer).inbox, [&](const frame& each) { return each.header.membership == membership; });
}

}  // namespace switchyard::comm
