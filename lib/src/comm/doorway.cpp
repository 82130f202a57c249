// SPDX-License-Identifier: Apache-2.0
#include "comm/doorway.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "comm/frame_stream.hpp"
#include "comm/stream_sockets.hpp"

namespace switchyard::comm {
namespace {

/// Those who say nothing hold a descriptor each: beyond these the one that has waited longest goes.
constexpr std::size_t most_visitors = 2 * max_ep_size;

}  // namespace

void doorway::watch(poll_set& polls) {
  while (visitors_.size() > most_visitors) turn_away(visitors_.begin());
  polls.watch(listener_.get(), POLLIN, [this] { let_in(); });
  for (auto who = visitors_.begin(); who != visitors_.end(); ++who) {
    polls.watch(who->socket.get(), POLLIN, [this, who] { hear(who); });
  }
}

/// One at a time: whoever waits behind is there at the next wait().
void doorway::let_in() {
  auto socket = accept_one(listener_.get());
  if (!socket) return;
  if (!domain_.distrust(socket.get()).empty()) {
    ++num_strangers_;
    return;
  }
  visitors_.push_back({std::move(socket), {}, 0});
}

void doorway::hear(std::list<visitor>::iterator who) {
  const auto room = std::span(who->heard).subspan(who->num_heard);
  const auto came = ::recv(who->socket.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (came < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
  if (came <= 0) return turn_away(who);
  who->num_heard += static_cast<std::size_t>(came);
  const auto said = body_of<hello>(who->heard);
  if (who->num_heard >= sizeof(said.magic) && said.magic != hello_magic) return turn_away(who);
  if (who->num_heard < sizeof(hello)) return;
  auto socket = std::move(who->socket);
  visitors_.erase(who);
  welcome_(said, std::move(socket));
}

void doorway::turn_away(std::list<visitor>::iterator who) {
  ++num_strangers_;
  visitors_.erase(who);
}

}  // namespace switchyard::comm
