// SPDX-License-Identifier: Apache-2.0
#include "comm/pairing.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include "comm/absence.hpp"
#include "comm/doorway.hpp"
#include "comm/hello.hpp"
#include "comm/stream_sockets.hpp"

namespace switchyard::comm {
namespace {

/// A listener whose queue is full has room again when its rank gets round to it.
constexpr std::chrono::milliseconds queue_pause(2);

class pairing {
 public:
  pairing(const socket_domain& domain, unique_descriptor listener, const std::vector<wire_address>& addresses,
          membership& whole)
      : domain_(domain),
        addresses_(addresses),
        whole_(whole),
        mesh_(whole.mesh()),
        connecting_(static_cast<std::size_t>(mesh_.rank())),
        door_(domain, std::move(listener),
              [this](const hello& said, unique_descriptor socket) { hear(said, std::move(socket)); }) {}

  void run(const deadline& until) {
    for (bool in_time = true; missing() != rank_set{};) {
      if (const auto why = whole_.trouble()) whole_.give_up(*why);
      if (!in_time) whole_.give_up(late(missing(), until));
      in_time = !until.has_passed();
      poll_set polls;
      for (int peer = 1; peer < mesh_.rank(); ++peer) connect(peer, polls);
      mesh_.watch(polls);
      door_.watch(polls);
      polls.wait(until);
    }
  }

 private:
  [[nodiscard]] rank_set missing() const {
    rank_set ranks{};
    for (int peer = 0; peer < mesh_.size(); ++peer) {
      if (peer != mesh_.rank() && !mesh_.has(peer)) insert(ranks, peer);
    }
    return ranks;
  }

  void connect(int peer, poll_set& polls) {
    if (mesh_.has(peer)) return;
    auto& socket = connecting_[static_cast<std::size_t>(peer)];
    if (!socket) {
      std::string why;
      socket = domain_.connect_to(addresses_[static_cast<std::size_t>(peer)], why);
      if (!socket && errno == EAGAIN) return polls.wake_after(queue_pause);
      if (!socket) cannot_reach(peer, why);
    }
    polls.watch(socket.get(), POLLOUT, [this, peer] { connected(peer); });
  }

  void connected(int peer) {
    auto& socket = connecting_[static_cast<std::size_t>(peer)];
    std::string why;
    if (!finish_connecting(socket.get(), why)) cannot_reach(peer, why);
    if (const auto reason = domain_.distrust(socket.get()); !reason.empty()) cannot_reach(peer, reason);
    hello mine;
    mine.rank = mesh_.rank();
    mine.size = mesh_.size();
    mine.build = build_number();
    mine.proof = mesh_.id();
    auto stream = std::make_unique<frame_stream>(std::move(socket));
    stream->send_raw(std::as_bytes(std::span(&mine, 1)));
    mesh_.add(peer, std::move(stream));
  }

  /// It listened when it came to rank 0, so it has ended, or its address leads elsewhere from here.
  [[noreturn]] void cannot_reach(int peer, const std::string& why) {
    rank_set ranks{};
    insert(ranks, peer);
    whole_.give_up(gone(ranks), to_text(addresses_[static_cast<std::size_t>(peer)]) + ": " + why);
  }

  /// Rank 0 has looked at size and build; the group's id is known to its ranks alone.
  void hear(const hello& said, unique_descriptor socket) {
    const bool is_due = said.rank > mesh_.rank() && said.rank < mesh_.size() && !mesh_.has(said.rank);
    if (said.proof == mesh_.id() && is_due) mesh_.add(said.rank, std::make_unique<frame_stream>(std::move(socket)));
  }

  const socket_domain& domain_;
  const std::vector<wire_address>& addresses_;
  membership& whole_;
  socket_mesh& mesh_;
  std::vector<unique_descriptor> connecting_;  ///< by rank, up to this one
  doorway door_;
};

}  // namespace

void pair_up(const socket_domain& domain, unique_descriptor listener, const std::vector<wire_address>& addresses,
             membership& whole, const deadline& until) {
  pairing(domain, std::move(listener), addresses, whole).run(until);
}

}  // namespace switchyard::comm
