// SPDX-License-Identifier: Apache-2.0
// Which ranks take part in a phase, as the workspace says (docs/decisions/014).
#pragma once

#include <cstdint>

#include "protocol/active_ranks.hpp"
#include "protocol/params.hpp"

namespace switchyard::protocol {

/// The mask of a phase: dispatch has what was set before it on the stream, combine what its dispatch found.
SWITCHYARD_DEVICE inline const rank_set& mask_of(const workspace_handle& ws, phase which) {
  const auto& words = ws.rank_mask();
  return which == phase::dispatch ? words.due : words.latched;
}
/// Whether the workspace of this block has masks. Known to the compiler where the block is one that serves only
/// workspaces without, so that these pay nothing for what they do not use.
template <class Block>
SWITCHYARD_DEVICE bool has_masks(Block& /*block*/, const workspace_handle& ws) {
  if constexpr (Block::may_mask) return ws.layout.dims.rank_masks;
  return false;
}
/// For blocks of the phase: nobody stores to its mask meanwhile, so that plain loads will do.
template <class Block>
SWITCHYARD_DEVICE active_ranks active_in(Block& block, const workspace_handle& ws, phase which) {
  return has_masks(block, ws) ? active_ranks(&mask_of(ws, which)) : active_ranks();
}
/// The same of a dispatch, from its parameters.
template <class Block>
SWITCHYARD_DEVICE active_ranks active_of(Block& /*block*/, const token_ids& routing) {
  return routing.template taking_part<Block::may_mask>();
}

/// What a header says of the mask; 0 where there are no masks.
template <class Block>
SWITCHYARD_DEVICE std::uint32_t mask_word(Block& block, const workspace_handle& ws, phase which) {
  if (!has_masks(block, ws)) return 0;
  const auto& words = ws.rank_mask();
  return which == phase::dispatch ? words.due_word : words.latched_word;
}

/// A word of a mask, and the nearest that it might be.
struct mask_verdict {
  std::uint64_t due;
  std::uint64_t legal;
};

/// What a word of the mask that dispatch has found might be: it must have this rank, and no rank that the step before
/// did not have. So nobody comes back who has missed phases, whose epochs, credits and buffers nobody waited for; bits
/// past ep_size were never there. `latched` may be either of the two masks already: a good one passes against both.
/// [thread]
template <class Block>
SWITCHYARD_DEVICE mask_verdict judge_mask_word(Block& block, const workspace_handle& ws, std::uint32_t index) {
  auto& mask = ws.rank_mask();
  const auto own_place = static_cast<std::uint32_t>(ws.rank);
  const auto own = own_place / 64 == index ? std::uint64_t{1} << (own_place % 64) : 0;
  const auto due = mask.due[index];
  return {due, (due & block.poll(&mask.latched[index])) | own};
}

/// Whether `rank` is told of `fault`: the ranks of its phase are, or those of the step before where this rank's mask is
/// not to be trusted. Also beside whatever runs. [thread]
template <class Block>
SWITCHYARD_DEVICE bool is_told_of(Block& block, const workspace_handle& ws, const fault_record& fault,
                                  std::int32_t rank) {
  if (!has_masks(block, ws) || rank == ws.rank) return true;
  const auto& mask = mask_of(ws, fault.code == fault_code::bad_mask ? phase::combine : fault.phase);
  const auto place = static_cast<std::uint32_t>(rank);
  return (block.poll(mask.data() + place / 64) >> (place % 64) & 1U) != 0;
}

}  // namespace switchyard::protocol
