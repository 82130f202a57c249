// SPDX-License-Identifier: Apache-2.0
// The side of all ranks but rank 0 in the rendezvous.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "comm/absence.hpp"
#include "comm/hello.hpp"
#include "comm/poll_set.hpp"
#include "comm/rendezvous.hpp"
#include "comm/stream_sockets.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {
namespace {

/// How long one of rank 0's addresses is tried before the next is.
constexpr std::chrono::seconds most_patience_for_an_address(2);
constexpr std::chrono::milliseconds longest_pause(20);

class arrival {
 public:
  arrival(socket_domain& domain, const process_group& which, const wire_address& own, const deadline& until)
      : domain_(domain), which_(which), own_(own), until_(until) {}

  introductions run() {
    for (std::chrono::milliseconds pause(1);; pause = std::min(2 * pause, longest_pause)) {
      here_ = {};
      if (auto stream = connect()) {
        if (auto made = be_welcomed(std::move(stream))) return std::move(*made);
      }
      if (until_.has_passed()) give_up();
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, until_.remaining()));
    }
  }

 private:
  /// Null, and why_, where nobody answers yet.
  std::unique_ptr<frame_stream> connect() {
    auto socket = domain_.connect_to_rendezvous(why_);
    if (!socket) return nullptr;
    bool answered = false;
    poll_set polls;
    polls.watch(socket.get(), POLLOUT, [&] { answered = true; });
    const auto patience = until_.sooner(most_patience_for_an_address);
    while (!answered && !patience.has_passed()) polls.wait(patience);
    if (!answered) {
      why_ = "connect: no answer";
      return nullptr;
    }
    if (!finish_connecting(socket.get(), why_)) return nullptr;
    if (const auto reason = domain_.distrust(socket.get()); !reason.empty()) {
      throw invalid_argument("comm backend: " + domain_.rendezvous() + ": " + reason);
    }
    return std::make_unique<frame_stream>(std::move(socket));
  }

  /// None, and why_, where it comes to nothing without a word from rank 0: it may have been another's, or an earlier
  /// rank 0 that was about to end.
  std::optional<introductions> be_welcomed(std::unique_ptr<frame_stream> stream) {
    hello mine;
    mine.rank = which_.rank;
    mine.size = which_.size;
    mine.build = build_number();
    mine.proof = digest_of(which_.secret);
    mine.address = own_;
    stream->send_raw(std::as_bytes(std::span(&mine, 1)));
    why_ = "it is there, but has not answered";
    while (!stream->has_ended()) {
      auto frames = stream->receive();
      for (auto next = frames.begin(); next != frames.end(); ++next) {
        if (next->header.kind == frame_kind::here) here_ = body_of<rank_set>(next->body);
        if (next->header.kind == frame_kind::refused) refused(*next);
        if (next->header.kind != frame_kind::welcome) continue;
        auto made = read_welcome(next->body);
        made.streams[0] = std::move(stream);
        made.early.assign(std::make_move_iterator(next + 1), std::make_move_iterator(frames.end()));
        return made;
      }
      if (stream->has_ended()) break;
      if (until_.has_passed()) {
        frame_header header;
        header.kind = frame_kind::leaving;
        stream->send(pack(header, std::span<const std::byte>()));
        return std::nullopt;
      }
      poll_set polls;
      polls.watch(stream->socket(), POLLIN, [] {});
      polls.wait(until_);
    }
    why_ = "what answers there has ended the connection: " + stream->why_ended();
    here_ = {};
    return std::nullopt;
  }

  introductions read_welcome(const std::vector<std::byte>& body) const {
    introductions made;
    made.addresses.resize(static_cast<std::size_t>(which_.size));
    made.streams.resize(static_cast<std::size_t>(which_.size));
    const auto bytes = made.addresses.size() * sizeof(wire_address);
    if (body.size() != sizeof(group_id) + bytes) throw error("comm backend: rank 0 has sent a welcome of another size");
    std::memcpy(&made.id, body.data(), sizeof(group_id));
    std::memcpy(made.addresses.data(), body.data() + sizeof(group_id), bytes);
    return made;
  }

  [[noreturn]] static void refused(const frame& from_rank_0) {
    const auto why = body_of<absence>(from_rank_0.body);
    const auto text = std::span(from_rank_0.body).subspan(std::min(sizeof(why), from_rank_0.body.size()));
    throw_absence(why, {reinterpret_cast<const char*>(text.data()), text.size()});
  }

  [[noreturn]] void give_up() const {
    rank_set missing{};
    for (int rank = 1; rank < which_.size && here_ != rank_set{}; ++rank) {
      if (!contains(here_, rank)) insert(missing, rank);
    }
    if (missing == rank_set{}) insert(missing, 0);  // of the others nothing is known, or all are there
    throw_absence(late(missing, until_), contains(missing, 0) ? domain_.rendezvous() + ": " + why_ : std::string());
  }

  socket_domain& domain_;
  const process_group& which_;
  const wire_address& own_;
  const deadline& until_;
  rank_set here_{};  ///< as rank 0 has told; empty: it has told nothing
  std::string why_ = "nothing was tried";
};

}  // namespace

introductions come_to_rank_0(socket_domain& domain, const process_group& which, const wire_address& own,
                             const deadline& until) {
  return arrival(domain, which, own, until).run();
}

}  // namespace switchyard::comm
