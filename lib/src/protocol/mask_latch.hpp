// SPDX-License-Identifier: Apache-2.0
// How a dispatch takes the rank mask that it finds, and what it counts of the routes that the mask cuts off.
#pragma once

#include <cstdint>

#include "protocol/fault.hpp"

namespace switchyard::protocol {

/// What is wrong with the mask: its first word that cannot be, or none. [thread]
template <block Block>
SWITCHYARD_DEVICE_APART mask_verdict judge_mask(Block& block, const workspace_handle& ws) {
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < ws.rank_mask().due.size(); ++i) {
    const auto found = judge_mask_word(block, ws, i);
    if (found.legal != found.due) return found;
  }
  return {};
}

/// Whether nothing is, without a call: a usual course has none, because what it may need after one would be kept in
/// memory. [thread]
template <block Block>
SWITCHYARD_DEVICE bool is_good_mask(Block& block, const workspace_handle& ws) {
  bool good = true;
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < ws.rank_mask().due.size(); ++i) {
    const auto found = judge_mask_word(block, ws, i);
    good &= found.legal == found.due;
  }
  return good;
}

template <block Block>
SWITCHYARD_DEVICE_APART void raise_bad_mask(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                            mask_verdict found) {
  fault_record fault;
  fault.code = fault_code::bad_mask;
  fault.field = step_field::rank_mask;
  fault.rank = ws.rank;
  fault.expected = found.legal;
  fault.actual = found.due;
  raise(block, ws, frame, fault);
}

/// Checks the mask that dispatch has found, and keeps it for combine. Returns whether dispatch may go on. `keeps`:
/// this block is one that does so; of a Lamport dispatch the clerk, and whoever finds that something is unusual. [team]
template <block Block>
SWITCHYARD_DEVICE bool latch_mask(Block& block, const workspace_handle& ws, const phase_frame& frame, bool keeps) {
  if (!has_masks(block, ws)) return true;
  const auto found = block.broadcast(block.thread_index() == 0 ? judge_mask(block, ws) : mask_verdict{});
  if (found.due != found.legal) {
    raise_bad_mask<Block>(block, ws, frame, found);
    return false;
  }
  if (!keeps) return true;
  auto& mask = ws.rank_mask();
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); i < mask.due.size(); i += block.num_threads()) {
    block.store_u64(&mask.latched[i], mask.due[i]);
  }
  if (block.thread_index() == 0) block.store_u32(&mask.latched_word, mask.due_word);
  return true;
}

/// Adds up the routes of tokens [first, end) that lead to ranks that are masked off. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void count_dropped(handed_over<Block> block, const workspace_handle& ws,
                                           const token_ids& routing, std::uint32_t first, std::uint32_t end) {
  std::uint32_t dropped = 0;
  const auto last = wide_product(end, routing.top_k);
  SWITCHYARD_ROLLED
  for (auto i = wide_product(first, routing.top_k) + block.thread_index(); i < last; i += block.num_threads()) {
    const auto owner = routing.experts.owner_of(routing.ids[i]);
    if (owner >= 0 && !routing.active.contains(owner)) ++dropped;
  }
  dropped = block.team_sum(dropped);
  if (block.thread_index() == 0 && dropped != 0) (void)block.arrive(&ws.rank_mask().dropped_routes, dropped);
  block.sync();
}

/// The step's count is no longer asked for when its combine begins. By one block. [team]
template <block Block>
SWITCHYARD_DEVICE void forget_dropped(Block& block, const workspace_handle& ws) {
  if (!has_masks(block, ws) || block.thread_index() != 0) return;
  block.store_u32(&ws.rank_mask().dropped_routes, 0);
}

}  // namespace switchyard::protocol
