// SPDX-License-Identifier: Apache-2.0
// The part of a workspace that says where its rank stands. It lives in the workspace, not in launch arguments, so that
// a captured graph goes on from wherever the previous launch left it.
#pragma once

#include <cstdint>

#include "layout/workspace_layout.hpp"

namespace switchyard::layout {

/// Read by every block of a phase at entry, written by its last block at exit; the two never overlap in time because
/// a stream runs one phase of a workspace at a time.
struct round_state {
  // What the next phase is.
  alignas(line_bytes) std::uint32_t epoch;  ///< of the phase that is due; never 0
  std::uint32_t phase_due;                  ///< a value of switchyard::phase
  std::uint64_t step_index;                 ///< steps completed; its lowest bit is the parity of header slots
  std::uint32_t incarnation;                ///< of this workspace; notices of another incarnation are void
  std::uint32_t warm_phases_left;           ///< phases that still get the warm-up deadline
  std::uint64_t timeout_ns;
  std::uint64_t warmup_timeout_ns;
  // Words that blocks and the host race for.
  alignas(line_bytes) std::uint32_t poison;          ///< not 0: every kernel leaves at once
  alignas(line_bytes) std::uint32_t fault_elected;   ///< 0, or 1 once a block or the host owns the fault record
  std::uint32_t fault_announced;                     ///< 1 once the record is filled and every rank has its notice
  alignas(line_bytes) std::uint32_t next_ticket;     ///< blocks that have come; in dispatch, roles that are taken
  alignas(line_bytes) std::uint32_t next_role;       ///< roles of the running combine that are taken
  std::uint32_t chunks_sent;                         ///< chunks of the running dispatch whose rows are stored
  alignas(line_bytes) std::uint32_t next_wait;       ///< checks and sums of the running combine that are taken
  alignas(line_bytes) std::uint32_t blocks_done;     ///< blocks that have left the running phase; see protocol::leave
  std::uint32_t blocks_failed;                       ///< blocks of a Lamport phase that have failed
  alignas(line_bytes) std::uint64_t phase_start_ns;  ///< entry of the running phase's first block, 0 between phases
};
static_assert(sizeof(round_state) <= 8 * line_bytes);

/// What a block of a Lamport phase reads at entry and leaves for the next phase: the state of the round over again, one
/// for each block, so that nobody has to wait until all have read it. Written by a block for itself and for numbers
/// that the launch has no blocks for; by the last block of a fence phase for all.
struct alignas(32) block_state {
  std::uint32_t epoch;
  std::uint32_t claim;  ///< see unclaimed(); what the block sends is sent by whoever claims it
  std::uint32_t phase_due;
  std::uint32_t warm_phases_left;
  std::uint64_t step_index;
  std::uint32_t lamport_epoch;  ///< of the last Lamport phase, 0 before the first: what credits are compared with
  std::uint32_t left;           ///< epoch of the last phase that this block has left
};
inline constexpr std::uint32_t max_lamport_blocks = extents::max_lamport_blocks;
static_assert(sizeof(block_state) == extents::block_state_bytes);

/// The claim of a block that nobody has taken in a phase of this epoch. Its lowest bit is set by whoever takes it.
constexpr std::uint32_t unclaimed(std::uint32_t epoch) { return epoch << 1; }

/// Of a workspace in which nothing has run.
constexpr block_state first_block_state(const round_state& round) {
  return {round.epoch, unclaimed(round.epoch), round.phase_due, round.warm_phases_left, round.step_index, 0, 0};
}

/// Epochs skip 0, which is what memory holds that no header or flag was ever stored to.
constexpr std::uint32_t next_epoch(std::uint32_t epoch) { return epoch + 1 == 0 ? 1 : epoch + 1; }

/// Epochs wrap, and ranks of a group are at most two phases apart, but for one that is masked off, which has stayed
/// behind: by less than 2^31 phases.
constexpr bool is_later(std::uint32_t epoch, std::uint32_t other) {
  return static_cast<std::int32_t>(epoch - other) > 0;
}

/// The header and flag word: 32 bits of data under a tag that says which phase it belongs to.
constexpr std::uint64_t tagged(std::uint32_t data, std::uint32_t tag) {
  return static_cast<std::uint64_t>(tag) << 32 | data;
}
constexpr std::uint32_t tag_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t data_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

/// Where one token of this rank went: written by dispatch, read by combine of the same step.
struct route {
  std::int32_t rank;  ///< -1: no further rank
  std::uint32_t row;  ///< packed row within this source's slice at that rank
};

/// Host-visible copy of the first fault. `sequence` goes from 0 to 1 with release after the others are filled.
struct fault_mailbox {
  fault_record record;
  wait_lanes arrival_ns{};  ///< of the ranks that there are
  rank_set only_expected{};
  rank_set only_actual{};

  [[nodiscard]] recorded_fault recorded(std::size_t ep_size) const {
    recorded_fault all{record, arrival_ns, only_expected, only_actual};
    for (std::size_t rank = ep_size; rank < all.arrival_ns.size(); ++rank) all.arrival_ns[rank] = not_arrived;
    return all;
  }
  std::uint64_t sequence = 0;
};

}  // namespace switchyard::layout
