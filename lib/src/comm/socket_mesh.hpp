// SPDX-License-Identifier: Apache-2.0
// One rank's connections to all others, which its backend and the parts of it share, and what has come over them and
// has not been taken yet.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "comm/deadline.hpp"
#include "comm/frame_stream.hpp"
#include "comm/poll_set.hpp"
#include "comm/wire.hpp"

namespace switchyard::comm {

class socket_mesh {
 public:
  socket_mesh(int rank, int size, const group_id& id, bool passes_descriptors)
      : rank_(rank), id_(id), passes_descriptors_(passes_descriptors), peers_(static_cast<std::size_t>(size)) {}

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(peers_.size()); }
  [[nodiscard]] const group_id& id() const noexcept { return id_; }
  [[nodiscard]] bool passes_descriptors() const noexcept { return passes_descriptors_; }

  void add(int peer, std::unique_ptr<frame_stream> stream);
  [[nodiscard]] bool has(int peer) const { return at(peer).stream != nullptr; }
  /// It was there and has ended; what it had sent is in its inbox.
  [[nodiscard]] bool is_gone(int peer) const { return has(peer) && at(peer).stream->has_ended(); }
  [[nodiscard]] const std::string& why_gone(int peer) const { return at(peer).stream->why_ended(); }

  void send(int peer, const packed_frame& packed, std::shared_ptr<const unique_descriptor> descriptor = {});
  [[nodiscard]] bool has_unsent(int peer) const { return has(peer) && at(peer).stream->has_unsent(); }

  /// Makes polls.wait() send what is left to send and take in what comes.
  void watch(poll_set& polls);
  void wait(const deadline& until);

  /// Takes in a frame of a peer. Frames of memberships that nobody here expects are dropped: those are of attempts that
  /// have been given up.
  void arrive(int peer, frame&& next);
  std::deque<frame>& inbox(int peer) { return at(peer).inbox; }
  [[nodiscard]] const std::deque<frame>& inbox(int peer) const { return at(peer).inbox; }

  /// A backend of this rank has the peer's membership in it.
  void expect(int peer, std::uint64_t membership) { at(peer).expected.insert(membership); }
  [[nodiscard]] bool expects(int peer, std::uint64_t membership) const {
    return at(peer).expected.contains(membership);
  }
  /// It has no more. What has come of it is dropped.
  void forget(int peer, std::uint64_t membership);
  /// A number for a backend of this rank that no other has had.
  std::uint64_t next_membership() noexcept { return ++num_memberships_; }

 private:
  struct peer_state {
    std::unique_ptr<frame_stream> stream;
    std::deque<frame> inbox;
    std::set<std::uint64_t> expected;
  };
  peer_state& at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const peer_state& at(int peer) const { return peers_[static_cast<std::size_t>(peer)]; }
  void serve(int peer);

  int rank_;
  group_id id_;
  bool passes_descriptors_;
  std::vector<peer_state> peers_;
  std::uint64_t num_memberships_ = 0;
};

}  // namespace switchyard::comm
