// SPDX-License-Identifier: Apache-2.0
#include "recovery.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layout/round_state.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

/// One rank's part of the gathering; plain bytes.
struct standing {
  std::uint32_t drained = 0;
  std::uint32_t epoch = 0;
  std::uint32_t incarnation = 0;
};

/// Epochs wrap, and ranks of a group are at most two phases apart, but for one that is masked off, which has stayed
/// behind: by less than 2^31 phases.
bool is_later(std::uint32_t epoch, std::uint32_t other) { return static_cast<std::int32_t>(epoch - other) > 0; }

}  // namespace

void check_active_ranks(const rank_set& active, int rank, int ep_size) {
  std::string left_out;
  for (int each = 0; each < max_ep_size; ++each) {
    if (each >= ep_size && contains(active, each)) {
      throw invalid_argument("active_ranks has rank " + std::to_string(each) +
                             ", must be below ep_size = " + std::to_string(ep_size));
    }
    if (each < ep_size && !contains(active, each)) left_out += (left_out.empty() ? "" : ", ") + std::to_string(each);
  }
  if (!contains(active, rank)) {
    throw invalid_argument("active_ranks does not have this rank, " + std::to_string(rank) + ", must");
  }
  if (!left_out.empty()) {
    throw unsupported("active_ranks leaves out rank(s) " + left_out + ": groups without a rank are not there yet");
  }
}

void recover_workspace(fabric_workspace& workspace, comm_backend& backend, std::chrono::nanoseconds timeout) {
  workspace.abort();  // poisons, and frees whatever waits, here and at the peers
  standing mine;
  mine.drained = workspace.drain_for(timeout) ? 1 : 0;
  // Where launches still run nobody starts anew, and where they stand may be changing.
  const auto position = mine.drained != 0 ? workspace.position() : round_position{};
  mine.epoch = position.epoch;
  mine.incarnation = position.incarnation;
  std::vector<standing> all(static_cast<std::size_t>(backend.size()));
  backend.allgather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)), timeout);

  std::string stuck;
  auto start = position;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].drained == 0) stuck += (stuck.empty() ? "" : ", ") + std::to_string(rank);
    if (is_later(all[rank].epoch, start.epoch)) start.epoch = all[rank].epoch;
    start.incarnation = std::max(start.incarnation, all[rank].incarnation);
  }
  if (!stuck.empty()) throw peer_fault("recover: the launches of rank(s) " + stuck + " did not end", {});
  // From here on no launch of the old incarnation runs on any rank, so nobody stores into anybody's workspace.
  start.epoch = layout::next_epoch(layout::next_epoch(start.epoch));
  ++start.incarnation;
  workspace.restart(start);
  backend.barrier(timeout);  // no peer's first launch may meet a workspace that is not new yet
}

}  // namespace switchyard
