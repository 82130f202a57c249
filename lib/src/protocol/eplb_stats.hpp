// SPDX-License-Identifier: Apache-2.0
// Load statistics, all-gathered with a dispatch. Each integer travels in a word of its own with the epoch as its tag,
// as those of headers do, and is copied from the inbox into the view by whoever waits for it.
//
// Why inbox words may be overwritten (invariant 3): the receiver takes them in its dispatch of the step, which ends
// before it posts its combine header on the same stream; the source has awaited that header in its combine, which has
// ended before its next dispatch. So there is one inbox, whatever the parity and the transports of the two steps. The
// view is written by its own rank alone, whose stream has ended what read it (docs/decisions/016-eplb-statistics.md).
#pragma once

#include <cstdint>

#include "protocol/fault.hpp"

namespace switchyard::protocol {

/// Posts part `part` of `parts` of this rank's statistics to every rank that takes part, itself included. They hang on
/// no row, so nothing is released for them. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void send_statistics(handed_over<Block> block, const dispatch_params& p, std::uint32_t epoch,
                                             std::uint32_t part, std::uint32_t parts) {
  const auto& ws = p.ws;
  SWITCHYARD_ROLLED
  for (auto i = part * block.num_threads() + block.thread_index(); i < p.statistics.length;
       i += parts * block.num_threads()) {
    const auto word = layout::tagged(static_cast<std::uint32_t>(p.statistics.data[i]), epoch);
    SWITCHYARD_ROLLED
    for (std::int32_t rank = 0; rank < ws.ep_size; ++rank) {
      if (p.routing.active.contains(rank)) block.post(ws.statistics(rank, ws.rank) + i, word);
    }
  }
  block.sync();
}

/// The view of the statistics: [ep_size, length], rows of the step's own length.
SWITCHYARD_DEVICE inline std::int32_t* statistics_view(const dispatch_params& p, std::int32_t source) {
  auto* view = p.ws.local<std::int32_t>(p.ws.layout.offset_of(layout::region::eplb_stats));
  return view + wide_product(static_cast<std::uint32_t>(source), p.statistics.length);
}

/// Waits for the statistics of ranks first .. last - 1 and completes this rank's view of them; zeros for those that are
/// masked off. They follow their sender's header, which whoever sent it sends on without waiting, so nobody need help
/// meanwhile. Returns whether the role may go on. [team]
template <block Block>
SWITCHYARD_DEVICE_APART bool receive_statistics(handed_over<Block> block, const dispatch_params& p, phase_frame frame,
                                                std::int32_t first, std::int32_t last) {
  const auto& ws = p.ws;
  bool complete = true;
  SWITCHYARD_ROLLED
  for (auto source = first; complete && source < last; ++source) {
    auto* row = statistics_view(p, source);
    if (!p.routing.active.contains(source)) {
      block.fill_i32(row, 0, p.statistics.length);
      continue;
    }
    const auto* words = ws.statistics(ws.rank, source);
    const auto status = block.wait_all(
        p.statistics.length,
        [&](std::uint64_t i) {
          const auto word = block.poll(words + i);
          if (layout::tag_of(word) != frame.epoch) return false;
          block.store_u32(reinterpret_cast<std::uint32_t*>(row + i), layout::data_of(word));
          return true;
        },
        bounds_for(frame, awaited::statistics), [] { return false; });
    complete = settle(block, ws, frame, status, awaited::statistics, source);
  }
  block.sync();
  return complete;
}

/// What a failed dispatch leaves of them. [team]
template <block Block>
SWITCHYARD_DEVICE void clear_statistics(Block& block, const dispatch_params& p) {
  block.fill_i32(statistics_view(p, 0), 0, wide_product(static_cast<std::uint32_t>(p.ws.ep_size), p.statistics.length));
}

}  // namespace switchyard::protocol
