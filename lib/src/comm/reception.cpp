// SPDX-License-Identifier: Apache-2.0
// Rank 0's side of the rendezvous.
#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "comm/absence.hpp"
#include "comm/doorway.hpp"
#include "comm/group_identity.hpp"
#include "comm/hello.hpp"
#include "comm/rendezvous.hpp"
#include "comm/stream_sockets.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {
namespace {

/// Somebody who has just given the rendezvous up, such as the attempt before this one, may not be gone yet.
constexpr std::chrono::seconds most_patience_for_a_name(1);

unique_descriptor listen_patiently(socket_domain& domain, const deadline& until) {
  const auto patience = until.sooner(most_patience_for_a_name);
  for (;;) {
    auto listener = domain.listen_at_rendezvous();
    if (listener) return listener;
    if (errno != EADDRINUSE) throw invalid_argument("comm backend: " + domain.rendezvous() + ": " + reason_of("bind"));
    if (patience.has_passed()) {
      throw invalid_argument("comm backend: " + domain.rendezvous() +
                             " is in use by another process, must be free for rank 0");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

packed_frame refusal(const absence& why, const std::string& text) {
  std::vector<std::byte> body(sizeof(why) + text.size());
  std::memcpy(body.data(), &why, sizeof(why));
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), body.data() + sizeof(why));
  frame_header header;
  header.kind = frame_kind::refused;
  return pack(header, body);
}

class reception {
 public:
  reception(socket_domain& domain, const process_group& which, const deadline& until)
      : domain_(domain),
        which_(which),
        until_(until),
        secret_(digest_of(which.secret)),
        door_(domain, listen_patiently(domain, until),
              [this](const hello& said, unique_descriptor socket) { hear(said, std::move(socket)); }) {
    made_.id = new_group_id();
    made_.addresses.resize(static_cast<std::size_t>(which.size));
    made_.streams.resize(static_cast<std::size_t>(which.size));
  }

  introductions run() {
    for (;;) {
      if (!misfit_.empty()) end_all({absence_reason::unfit, 0, 0, {}}, misfit_);
      if (absent() == rank_set{}) break;
      if (until_.has_passed()) end_all(late(missing(), until_), strangers());
      poll_set polls;
      door_.watch(polls);
      for (int rank = 1; rank < which_.size; ++rank) {
        if (stream(rank)) polls.watch(stream(rank)->socket(), POLLIN, [this, rank] { drop_if_ended(rank); });
      }
      polls.wait(until_);
    }
    welcome_all();
    return std::move(made_);
  }

 private:
  std::unique_ptr<frame_stream>& stream(int rank) { return made_.streams[static_cast<std::size_t>(rank)]; }

  rank_set absent() {
    rank_set ranks{};
    for (int rank = 1; rank < which_.size; ++rank) {
      if (!stream(rank)) insert(ranks, rank);
    }
    return ranks;
  }

  /// Who never came, or has ended; where there is none, who has given up.
  rank_set missing() {
    auto ranks = absent();
    for (std::size_t word = 0; word < ranks.size(); ++word) ranks[word] &= ~gave_up_[word];
    return ranks == rank_set{} ? absent() : ranks;
  }

  void hear(const hello& said, unique_descriptor socket) {
    auto guest = std::make_unique<frame_stream>(std::move(socket));
    if (said.proof != secret_) {
      ++num_wrong_secrets_;
      guest->send(refusal({absence_reason::unfit, 0, 0, {}},
                          "the secret differs from that of rank 0 at " + domain_.rendezvous() + ", must be equal"));
      return;
    }
    if (auto misfit = misfit_of(said); !misfit.empty()) {
      misfit_ = std::move(misfit);
      guest->send(refusal({absence_reason::unfit, 0, 0, {}}, misfit_));
      return;
    }
    made_.addresses[static_cast<std::size_t>(said.rank)] = domain_.as_seen(guest->socket(), said.address);
    stream(said.rank) = std::move(guest);
    gave_up_[static_cast<std::size_t>(said.rank) / 64] &= ~(std::uint64_t{1} << (said.rank % 64));
    tell_who_came();
  }

  /// Why the group cannot be with this rank in it; empty: it can.
  std::string misfit_of(const hello& said) {
    const auto differs = [&](const std::string& what, const std::string& there, const std::string& here) {
      return what + " is " + there + " on rank " + std::to_string(said.rank) + " and " + here +
             " on rank 0, must be equal";
    };
    if (said.version != wire_version) {
      return differs("the version of the wire", std::to_string(said.version), std::to_string(wire_version));
    }
    if (said.build != build_number()) return differs("the library", build_text(said.build), build_text(build_number()));
    if (said.size != which_.size) return differs("size", std::to_string(said.size), std::to_string(which_.size));
    if (said.rank < 1 || said.rank >= which_.size) {
      return "a rank says that it is rank " + std::to_string(said.rank) + ", must be 1 .. " +
             std::to_string(which_.size - 1);
    }
    if (stream(said.rank)) drop_if_ended(said.rank);
    if (stream(said.rank)) return "two processes say that they are rank " + std::to_string(said.rank) + ", must be one";
    return {};
  }

  /// All that ranks have to say before they are welcome is that they give up.
  void drop_if_ended(int rank) {
    if (!stream(rank)) return;
    const bool gives_up = !stream(rank)->receive().empty();
    if (!gives_up && !stream(rank)->has_ended()) return;
    stream(rank).reset();
    if (gives_up) insert(gave_up_, rank);
    tell_who_came();
  }

  /// So that a rank whose time is up before rank 0's knows who was missing.
  void tell_who_came() {
    const auto missed = missing();
    rank_set came{};
    for (int rank = 0; rank < which_.size; ++rank) {
      if (!contains(missed, rank)) insert(came, rank);
    }
    frame_header header;
    header.kind = frame_kind::here;
    send_all(pack(header, came));
  }

  void welcome_all() {
    std::vector<std::byte> body(sizeof(group_id) + made_.addresses.size() * sizeof(wire_address));
    std::memcpy(body.data(), &made_.id, sizeof(group_id));
    std::memcpy(body.data() + sizeof(group_id), made_.addresses.data(), body.size() - sizeof(group_id));
    frame_header header;
    header.kind = frame_kind::welcome;
    send_all(pack(header, body));
  }

  void send_all(const packed_frame& packed) {
    for (const auto& each : made_.streams) {
      if (each) each->send(packed);
    }
  }

  [[noreturn]] void end_all(const absence& why, const std::string& text) {
    auto told = why;
    told.told_by = 0;
    send_all(refusal(told, text));
    auto own = why;
    own.told_by = -1;
    throw_absence(own, text);
  }

  [[nodiscard]] std::string strangers() const {
    std::string text;
    if (num_wrong_secrets_ > 0) text = std::to_string(num_wrong_secrets_) + " came with another secret";
    if (door_.num_strangers() > 0) {
      text += (text.empty() ? "" : ", ") + std::to_string(door_.num_strangers()) + " that were no ranks";
    }
    return text;
  }

  socket_domain& domain_;
  const process_group& which_;
  const deadline& until_;
  group_id secret_;
  doorway door_;
  introductions made_;
  std::string misfit_;
  rank_set gave_up_{};  ///< ranks that came, and whose time was up before rank 0's
  int num_wrong_secrets_ = 0;
};

}  // namespace

introductions receive_ranks(socket_domain& domain, const process_group& which, const deadline& until) {
  return reception(domain, which, until).run();
}

}  // namespace switchyard::comm
