// SPDX-License-Identifier: Apache-2.0
// How blocks leave a Lamport phase, without a word that all of them meet at unless it has failed.
#pragma once

#include <cstdint>

#include "protocol/lamport_phase.hpp"

namespace switchyard::protocol {

/// Whether block `index` does nothing more in the phase of this frame: it has left. In a workspace that was poisoned
/// from outside, by abort(), whoever comes does nothing, so that one that has not begun need not be waited for, nor one
/// that has left an earlier launch by the poison. One that has not begun is kept from it by taking its claim: that it
/// has not made it yet does not say that its look at the poison is still to come (see enter_lamport). [thread]
template <block Block>
SWITCHYARD_DEVICE bool is_out(Block& block, const workspace_handle& ws, const lamport_frame& frame,
                              std::uint32_t index) {
  auto& state = ws.block_state(index);
  const auto left = block.load_departed(&state.left);
  if (left == frame.epoch) return true;
  if (frame.stands != standing::failed) return false;
  const auto free = layout::unclaimed(frame.epoch);
  return block.swap_if(&state.claim, free, free | 1U) || left == block.load_u32(&state.epoch);
}

/// What a Lamport phase that has failed does: the first block to fail waits for all blocks of the launch to leave, so
/// that nobody else of this rank touches the workspace, but not for long, and makes the phase harmless.
template <block Block, class Spoil>
SWITCHYARD_DEVICE_APART void leave_failed(handed_over<Block> block, const workspace_handle& ws,
                                          const lamport_frame& frame, Spoil spoil) {
  // Blocks that wait have this rank's own notice by now. Those that come later find it, and store nothing: their places
  // may be what this block holds.
  constexpr std::uint64_t others_may_be_leaving_ns = 200'000'000;
  auto& round = ws.round();
  bool first = false;
  if (block.thread_index() == 0) {
    block.depart(&ws.block_state(block.block_index()).left, frame.epoch);
    first = block.arrive(&round.blocks_failed, 1) == 0;
  }
  first = block.broadcast(first);
  if (first) {
    await_announcement<Block>(block, ws);
    const auto patience = block.broadcast(block.now_ns()) + others_may_be_leaving_ns;
    (void)block.wait_all(
        ws.num_blocks, [&](std::uint64_t i) { return is_out(block, ws, frame, static_cast<std::uint32_t>(i)); },
        {nullptr, 0, patience, awaited::nothing}, [] { return false; });
    spoil();
    block.sync();
    if (block.thread_index() == 0) {
      block.store_u32(&round.poison, 1);
      block.store_u32(&round.blocks_failed, 0);
    }
  }
  block.sync();
}

/// Leaves a Lamport phase that has succeeded: each block leaves the state of the next phase for itself, and for numbers
/// that this launch has no blocks for. [team]
template <block Block>
SWITCHYARD_DEVICE void leave_succeeded(Block& block, const workspace_handle& ws, phase which) {
  const auto index = block.block_index() + block.thread_index() * ws.num_blocks;
  const auto& own = ws.block_state(block.block_index());
  const auto epoch = own.epoch;
  const auto next = state_after(which, epoch, own.step_index, own.warm_phases_left);
  block.sync();
  if (index >= layout::max_lamport_blocks) return;
  SWITCHYARD_ROLLED
  for (auto i = index; i < layout::max_lamport_blocks; i += block.num_threads() * ws.num_blocks) {
    store_block_state(block, ws, i, next);
    block.store_u32(&ws.block_state(i).lamport_epoch, epoch);
  }
  if (block.thread_index() != 0) return;
  if (index == 0) store_round(block, ws, next);
  block.depart(&ws.block_state(index).left, epoch);
}

}  // namespace switchyard::protocol
