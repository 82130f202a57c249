// SPDX-License-Identifier: Apache-2.0
// What a host reads of a workspace that lies where it cannot look: whether a phase is running there, which is due, and
// of which ranks.
#pragma once

#include <algorithm>
#include <array>

#include "layout/rank_mask.hpp"
#include "layout/round_state.hpp"

namespace switchyard::layout {

/// Copies, taken one after the other.
struct round_snapshot {
  round_state round;
  std::array<block_state, max_lamport_blocks> blocks;
  rank_mask_words mask;
};

/// Whether no block was in a phase. Lasts in a poisoned workspace for as long as no launch begins; the words of a
/// launch that finds itself poisoned may say either. A fence phase has these words set from its first block's entry to
/// its last one's leave; a block of a Lamport phase has its claim taken, by itself or by another, until it has left,
/// and the first to fail counts as failed until it has spoiled the phase.
constexpr bool is_quiet(const round_snapshot& seen) {
  const auto& round = seen.round;
  if (round.phase_start_ns != 0 || round.next_ticket != 0 || round.blocks_done != 0 || round.blocks_failed != 0) {
    return false;
  }
  return std::none_of(seen.blocks.begin(), seen.blocks.end(),
                      [](const block_state& block) { return (block.claim & 1U) != 0 && block.left != block.epoch; });
}

}  // namespace switchyard::layout
