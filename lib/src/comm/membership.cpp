// SPDX-License-Identifier: Apache-2.0
#include "comm/membership.hpp"

#include <algorithm>
#include <utility>

#include "comm/absence.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::comm {

rank_set set_of(const std::vector<int>& ranks) {
  rank_set set{};
  for (const int rank : ranks) insert(set, rank);
  return set;
}

void send_leaving(socket_mesh& mesh, const std::vector<int>& ranks, frame_header header, const absence& why) {
  header.kind = frame_kind::leaving;
  const auto packed = pack(header, departure{why, set_of(ranks)});
  for (const int rank : ranks) mesh.send(rank, packed);
}

membership::membership(std::shared_ptr<socket_mesh> mesh, std::vector<int> ranks, std::vector<std::uint64_t> theirs)
    : mesh_(std::move(mesh)), ranks_(std::move(ranks)), theirs_(std::move(theirs)) {
  for (std::size_t place = 0; place < ranks_.size(); ++place) {
    if (ranks_[place] == mesh_->rank()) place_ = static_cast<int>(place);
    mesh_->expect(ranks_[place], theirs_[place]);
  }
}

membership::~membership() {
  for (std::size_t place = 0; place < ranks_.size(); ++place) mesh_->forget(ranks_[place], theirs_[place]);
  if (broken_) return;
  try {
    absence why{absence_reason::departed, -1, 0, {}};
    insert(why.missing, mesh_->rank());
    tell(why);
  } catch (...) {  // no memory to say it: the others notice when the connection ends, or at their deadline
  }
}

const frame* membership::find(int place, frame_kind kind) const {
  const auto index = static_cast<std::size_t>(place);
  const auto& inbox = mesh_->inbox(ranks_[index]);
  const auto found = std::find_if(inbox.begin(), inbox.end(), [&](const frame& each) {
    return each.header.kind == kind && each.header.membership == theirs_[index];
  });
  return found == inbox.end() ? nullptr : &*found;
}

frame membership::take(int place) {
  const auto* found = find(place, frame_kind::gathered);
  auto& inbox = mesh_->inbox(ranks_[static_cast<std::size_t>(place)]);
  const auto where = std::find_if(inbox.begin(), inbox.end(), [&](const frame& each) { return &each == found; });
  frame taken = std::move(*where);
  inbox.erase(where);
  return taken;
}

rank_set membership::awaited() const {
  rank_set ranks{};
  for (int place = 0; place < static_cast<int>(ranks_.size()); ++place) {
    const int rank = ranks_[static_cast<std::size_t>(place)];
    if (place == place_) continue;
    if (find(place, frame_kind::gathered) == nullptr || mesh_->has_unsent(rank)) insert(ranks, rank);
  }
  return ranks;
}

std::optional<absence> membership::trouble() const {
  absence ended = gone({});
  for (int place = 0; place < static_cast<int>(ranks_.size()); ++place) {
    const int rank = ranks_[static_cast<std::size_t>(place)];
    if (place == place_) continue;
    const bool came = find(place, frame_kind::gathered) != nullptr;
    const auto* left = find(place, frame_kind::leaving);
    // Who gives up tells whom it has missed: that is what is wrong, wherever it is seen from. One that has come to this
    // generation and given up a later one does not keep this one from being.
    if (left != nullptr && (!came || left->header.generation == generation_)) {
      auto why = body_of<departure>(left->body).why;
      if (why.told_by < 0) why.told_by = rank;
      if (why.reason != absence_reason::departed) return why;
    }
    if (came) continue;
    if (left != nullptr) {
      if (ended.missing == rank_set{}) ended.reason = absence_reason::departed;
      insert(ended.missing, rank);
    } else if (mesh_->is_gone(rank)) {
      ended.reason = absence_reason::gone;
      insert(ended.missing, rank);
    }
  }
  if (ended.missing == rank_set{}) return std::nullopt;
  return ended;
}

void membership::tell(const absence& why) {
  frame_header header;
  header.membership = own();
  header.generation = generation_;
  send_leaving(*mesh_, ranks_, header, why);
}

void membership::give_up(const absence& why, const std::string& detail) {
  broken_ = why;
  why_broken_ = detail;
  tell(why);
  throw_absence(why, detail);
}

std::vector<frame> membership::exchange(gather_call call, std::span<const std::byte> body,
                                        const std::shared_ptr<const unique_descriptor>& descriptor,
                                        const deadline& until) {
  if (broken_) throw_absence(*broken_, why_broken_);
  frame_header header;
  header.kind = frame_kind::gathered;
  header.membership = own();
  header.generation = generation_;
  header.call = call;
  const auto packed = pack(header, body);
  for (int place = 0; place < static_cast<int>(ranks_.size()); ++place) {
    if (place != place_) mesh_->send(ranks_[static_cast<std::size_t>(place)], packed, descriptor);
  }
  for (bool in_time = true; awaited() != rank_set{}; mesh_->wait(until)) {
    if (const auto why = trouble()) give_up(*why);
    if (!in_time) give_up(late(awaited(), until));
    in_time = !until.has_passed();
  }
  std::vector<frame> all(ranks_.size());
  for (int place = 0; place < static_cast<int>(ranks_.size()); ++place) {
    if (place == place_) continue;
    auto& theirs = all[static_cast<std::size_t>(place)] = take(place);
    if (theirs.header.generation != generation_) throw error("comm backend: gatherings came out of order");
  }
  ++generation_;
  return all;
}

}  // namespace switchyard::comm
