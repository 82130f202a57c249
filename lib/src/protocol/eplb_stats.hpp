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

/// Whether a dispatch gathers statistics. The compiler knows where the block is one that never does, as with rank
/// masks.
template <class Block>
SWITCHYARD_DEVICE bool gathers(Block& /*block*/, const dispatch_params& p) {
  if constexpr (Block::may_gather) return p.statistics.length != 0;
  return false;
}

/// Posts this rank's statistics to every rank that takes part, itself included. They hang on no row, so nothing is
/// released for them. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void send_statistics(handed_over<Block> block, const dispatch_params& p, std::uint32_t epoch) {
  const auto& ws = p.ws;
  SWITCHYARD_ROLLED
  for (std::int32_t rank = 0; rank < ws.ep_size; ++rank) {
    if (!active_of(block, p.routing).contains(rank)) continue;
    auto* words = ws.statistics(rank, ws.rank);
    SWITCHYARD_ROLLED
    for (auto i = block.thread_index(); i < p.statistics.length; i += block.num_threads()) {
      block.post(words + i, layout::tagged(static_cast<std::uint32_t>(p.statistics.data[i]), epoch));
    }
  }
  block.sync();
}

/// The view of the statistics: [ep_size, length], rows of the step's own length.
SWITCHYARD_DEVICE inline std::int32_t* statistics_view(const dispatch_params& p, std::int32_t source) {
  auto* view = p.ws.local<std::int32_t>(p.ws.layout.offset_of(layout::region::eplb_stats));
  return view + wide_product(static_cast<std::uint32_t>(source), p.statistics.length);
}

/// Waits for the statistics of every `stride`-th rank from `first` on and completes this rank's view of them; zeros for
/// those that are masked off. They come beside their sender's header, whoever sends them waits for nothing before he
/// does, so nobody need help meanwhile. Returns whether the phase may go on. [team]
template <block Block>
SWITCHYARD_DEVICE_APART bool receive_statistics(handed_over<Block> block, const dispatch_params& p,
                                                const phase_frame& frame, std::uint32_t first, std::uint32_t stride) {
  const auto& ws = p.ws;
  bool complete = true;
  SWITCHYARD_ROLLED
  for (auto index = first; complete && index < static_cast<std::uint32_t>(ws.ep_size); index += stride) {
    const auto source = static_cast<std::int32_t>(index);
    auto* row = statistics_view(p, source);
    if (!active_of(block, p.routing).contains(source)) {
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
    // By fence other blocks wait for headers meanwhile: who has sent none lacks more than statistics.
    const bool entered = status == wait_status::ready || has_header(block, ws, frame, source);
    complete = settle(block, ws, frame, status, entered ? awaited::statistics : awaited::header, source);
  }
  block.sync();
  return complete;
}

/// The same for a block of a fence dispatch that has no roles left: its part, by its number. It works out anew where
/// the phase stands, from words that change only when all blocks have left: the usual course would have to keep them
/// by. [team]
template <block Block>
SWITCHYARD_DEVICE_APART bool receive_behind_roles(handed_over<Block> block, const dispatch_params& p) {
  const auto& ws = p.ws;
  auto& round = ws.round();
  phase_frame frame;
  frame.which = phase::dispatch;
  frame.open = true;
  frame.epoch = round.epoch;
  frame.parity = round.step_index & 1U;
  frame.incarnation = round.incarnation;
  frame.digest = finished_digest(with_mask(p.words_digest, mask_word(block, ws, phase::dispatch)), frame.incarnation);
  frame.words = &p.words;
  frame.start_ns = block.poll(&round.phase_start_ns);
  frame.timeout_ns = round.warm_phases_left > 0 ? round.warmup_timeout_ns : round.timeout_ns;
  frame.bounds = {&ws.notice().word, frame.incarnation, frame.start_ns + frame.timeout_ns, awaited::nothing};
  return receive_statistics<Block>(block, p, frame, block.block_index(), ws.num_blocks);
}

/// What a failed dispatch leaves of them. [team]
template <block Block>
SWITCHYARD_DEVICE void clear_statistics(Block& block, const dispatch_params& p) {
  block.fill_i32(statistics_view(p, 0), 0, wide_product(static_cast<std::uint32_t>(p.ws.ep_size), p.statistics.length));
}

}  // namespace switchyard::protocol
