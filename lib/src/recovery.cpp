// SPDX-License-Identifier: Apache-2.0
#include "recovery.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fabric/collective_step.hpp"
#include "layout/round_state.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

/// One rank's part of the gathering; plain bytes.
struct standing {
  step_verdict verdict;  ///< not ready: it can take no part, as where its device is lost
  std::uint32_t drained = 0;
  round_position at;
  rank_set active{};   ///< as it was told
  rank_set kept_in{};  ///< ranks that are left out, but that it could not keep out
};

std::vector<int> ranks_of(const rank_set& set) {
  std::vector<int> ranks;
  for (int rank = 0; rank < max_ep_size; ++rank) {
    if (contains(set, rank)) ranks.push_back(rank);
  }
  return ranks;
}

std::string names_of(const rank_set& set) {
  std::string names;
  for (const int rank : ranks_of(set)) names += (names.empty() ? "" : ", ") + std::to_string(rank);
  return names;
}

rank_set left_out_of(const recovery_terms& terms) {
  rank_set left_out{};
  for (int rank = 0; rank < terms.ep_size; ++rank) {
    if (!contains(terms.active, rank)) insert(left_out, rank);
  }
  return left_out;
}

/// Whether a backend is of all ranks, or else of the active ones alone. Throws invalid_argument.
bool is_of_all(const comm_backend& backend, const recovery_terms& terms) {
  const auto ranks = ranks_of(terms.active);
  const auto place = std::distance(ranks.begin(), std::find(ranks.begin(), ranks.end(), terms.rank));
  if (backend.size() == terms.ep_size && backend.rank() == terms.rank) return true;
  if (backend.size() == static_cast<int>(ranks.size()) && backend.rank() == place) return false;
  throw invalid_argument("recover: the backend is of rank " + std::to_string(backend.rank()) + " of " +
                         std::to_string(backend.size()) + ", must be this rank's, " + std::to_string(terms.rank) +
                         " of " + std::to_string(terms.ep_size) + ", or of the active ranks alone, " +
                         std::to_string(place) + " of " + std::to_string(ranks.size()));
}

/// A caller's backend of the active ranks alone, whose faults name ranks as the group does.
class backend_of_active final : public comm_backend {
 public:
  backend_of_active(comm_backend& given, std::vector<int> ranks) : given_(given), ranks_(std::move(ranks)) {}

  [[nodiscard]] int rank() const noexcept override { return given_.rank(); }
  [[nodiscard]] int size() const noexcept override { return given_.size(); }
  [[nodiscard]] switchyard::group_id group_id() const noexcept override { return given_.group_id(); }
  [[nodiscard]] int name_of(int place) const noexcept override { return ranks_[static_cast<std::size_t>(place)]; }
  void allgather(std::span<const std::byte> mine, std::span<std::byte> all, std::chrono::nanoseconds timeout) override {
    renaming([&] { given_.allgather(mine, all, timeout); });
  }
  void barrier(std::chrono::nanoseconds timeout) override {
    renaming([&] { given_.barrier(timeout); });
  }
  [[nodiscard]] bool passes_descriptors() const noexcept override { return given_.passes_descriptors(); }
  std::vector<int> allgather_descriptors(int mine, std::chrono::nanoseconds timeout) override {
    std::vector<int> all;
    renaming([&] { all = given_.allgather_descriptors(mine, timeout); });
    return all;
  }

 private:
  template <class Call>
  void renaming(Call call) const {
    try {
      call();
    } catch (const peer_fault& e) {
      auto record = e.record();
      record.missing = {};
      for (int place = 0; place < size(); ++place) {
        if (contains(e.record().missing, given_.name_of(place))) insert(record.missing, name_of(place));
      }
      throw peer_fault("recover: rank(s) " + names_of(record.missing) +
                           " did not come; the backend, by its own numbers: " + e.what(),
                       record);
    }
  }

  comm_backend& given_;
  std::vector<int> ranks_;  ///< of the group, by place
};

/// One of the active ranks, made of one of all. Null: the backend itself is to be used.
std::shared_ptr<comm_backend> part_for(comm_backend& backend, const recovery_terms& terms,
                                       std::chrono::nanoseconds timeout) {
  // Also where everybody is active: a rank that does not come shall break this attempt, and no later one.
  auto part = backend.part_of(terms.active, timeout);
  if (part != nullptr || left_out_of(terms) == rank_set{}) return part;
  throw unsupported(
      "recover: active_ranks leaves out a rank, and the backend has no part_of(): give one of the active ranks alone");
}

/// Throws unless everybody can start anew.
void check_standings(const std::vector<standing>& all, const std::vector<int>& ranks) {
  rank_set stuck{};
  rank_set kept_in{};
  rank_set unable{};
  std::string reasons;
  for (std::size_t place = 0; place < all.size(); ++place) {
    if (all[place].active != all[0].active) {
      throw invalid_argument("recover: active_ranks is " + names_of(all[place].active) + " on rank " +
                             std::to_string(ranks[place]) + " and " + names_of(all[0].active) + " on rank " +
                             std::to_string(ranks[0]) + ", must be equal");
    }
    if (all[place].verdict.outcome != step_outcome::ready) {
      insert(unable, ranks[place]);
      reasons += "; rank " + std::to_string(ranks[place]) + ": " + all[place].verdict.reason.data();
    } else if (all[place].drained == 0) {
      insert(stuck, ranks[place]);
    }
    for (std::size_t word = 0; word < kept_in.size(); ++word) kept_in[word] |= all[place].kept_in[word];
  }
  fault_record record;
  record.missing = unable;
  if (unable != rank_set{}) throw peer_fault("recover: rank(s) " + names_of(unable) + " cannot" + reasons, record);
  record.missing = stuck;
  if (stuck != rank_set{}) {
    throw peer_fault("recover: the launches of rank(s) " + names_of(stuck) + " did not end", record);
  }
  record.missing = kept_in;
  if (kept_in != rank_set{}) {
    throw peer_fault("recover: rank(s) " + names_of(kept_in) + ", which are left out, are still in a launch that may " +
                         "store into the others' memory, which this fabric cannot replace",
                     record);
  }
}

}  // namespace

round_position position_behind(std::span<const round_position> all) {
  auto furthest = all.front();
  for (const auto& each : all) {
    if (layout::is_later(each.epoch, furthest.epoch)) furthest.epoch = each.epoch;
    furthest.incarnation = std::max(furthest.incarnation, each.incarnation);
  }
  return {layout::next_epoch(layout::next_epoch(furthest.epoch)), furthest.incarnation + 1};
}

void check_active_ranks(const recovery_terms& terms) {
  for (const int rank : ranks_of(terms.active)) {
    if (rank < terms.ep_size) continue;
    throw invalid_argument("active_ranks has rank " + std::to_string(rank) +
                           ", must be below ep_size = " + std::to_string(terms.ep_size));
  }
  if (!contains(terms.active, terms.rank)) {
    throw invalid_argument("active_ranks does not have this rank, " + std::to_string(terms.rank) + ", must");
  }
  const auto left_out = left_out_of(terms);
  if (left_out != rank_set{} && !terms.rank_masks) {
    throw unsupported("active_ranks leaves out rank(s) " + names_of(left_out) +
                      ": enable_rank_mask is false, must be true for that");
  }
}

void recover_workspace(fabric_workspace& workspace, comm_backend& backend, const recovery_terms& terms,
                       std::chrono::nanoseconds timeout, const std::function<void()>& when_aborted) {
  auto& recovery = workspace.recovery();
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto remaining = [&] {
    return std::max<std::chrono::nanoseconds>(deadline - std::chrono::steady_clock::now(), {});
  };
  const bool of_all = is_of_all(backend, terms);
  // Poisons, and frees whatever waits, here and at the peers; some may be on their way here, so it comes first of all.
  const auto aborted = judge([&] { workspace.abort(); });
  when_aborted();
  const auto part = of_all ? part_for(backend, terms, remaining())
                           : std::make_shared<backend_of_active>(backend, ranks_of(terms.active));
  const rank_meeting meeting("recover", part ? *part : backend, ranks_of(terms.active), remaining());

  const auto all = collective_step<standing>(meeting, [&] {
    standing mine;
    mine.active = terms.active;
    mine.verdict = aborted;
    if (aborted.outcome != step_outcome::ready) return mine;
    mine.verdict = judge([&] {
      // Half of what is left, so that a rank whose launches do not end still comes to say so.
      mine.drained = recovery.drain_for(meeting.remaining() / 2) ? 1 : 0;
      if (mine.drained == 0) return;  // where it stands may be changing
      mine.at = recovery.position();
      mine.kept_in = recovery.keep_out(left_out_of(terms), meeting.remaining() / 2);
    });
    return mine;
  });
  check_standings(all, meeting.ranks());

  // From here on no launch of the old incarnation runs on any active rank, and none elsewhere reaches what is new.
  std::vector<round_position> positions;
  for (const auto& each : all) positions.push_back(each.at);
  recovery.restart({position_behind(positions), terms.active}, meeting);
  meeting.backend().barrier(meeting.remaining());  // no peer's first launch may meet a workspace that is not new yet
  recovery.open_again(meeting.remaining());
}

}  // namespace switchyard
