// SPDX-License-Identifier: Apache-2.0
// Which ranks two masks differ in, for the record of a fault. A header's word holds a mask of up to 32 ranks, of larger
// groups a hash: ranks that see their masks differ tell one another the whole of them then, so that no usual step sends
// or reads a word more.
#pragma once

#include <cstdint>

#include "protocol/rank_mask.hpp"

namespace switchyard::protocol {

/// Tells every rank that takes part this rank's mask of the phase, 32 ranks a word. Each word is valid by its tag, and
/// what stood there is of an earlier epoch: nobody reads that any more. [thread]
template <class Block, class Frame>
SWITCHYARD_DEVICE_APART void post_whole_mask(Block& block, const workspace_handle& ws, const Frame& frame) {
  const auto active = active_in(block, ws, frame.which);
  const auto num_words = static_cast<std::uint32_t>(ws.layout.dims.whole_mask_words());
  SWITCHYARD_ROLLED
  for (std::int32_t rank = 0; rank < ws.ep_size; ++rank) {
    if (!active.contains(rank)) continue;
    SWITCHYARD_ROLLED
    for (std::uint32_t i = 0; i < num_words; ++i) {
      block.post(ws.whole_mask(rank, ws.rank) + i, layout::tagged(active.bits_from(32 * i), frame.epoch));
    }
  }
}

/// Word `index` of the mask that `source` has told, 64 ranks a word; of up to 32 ranks `told` is all of it. [thread]
template <class Block>
SWITCHYARD_DEVICE std::uint64_t told_mask_word(Block& block, const workspace_handle& ws, std::int32_t source,
                                               std::uint32_t index, std::uint64_t told) {
  const auto num_words = ws.layout.dims.whole_mask_words();
  if (num_words == 0) return index == 0 ? told : 0;
  std::uint64_t word = 0;
  SWITCHYARD_ROLLED
  for (std::uint32_t half = 0; half < 2 && 2 * index + half < num_words; ++half) {
    const std::uint64_t bits = layout::data_of(block.poll(ws.whole_mask(ws.rank, source) + 2 * index + half));
    word |= bits << (32 * half);
  }
  return word;
}

/// Whether `source` has told all of its mask in the phase of `epoch`, or has no need to. [thread]
template <class Block>
SWITCHYARD_DEVICE bool has_whole_mask(Block& block, const workspace_handle& ws, std::int32_t source,
                                      std::uint32_t epoch) {
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < ws.layout.dims.whole_mask_words(); ++i) {
    if (layout::tag_of(block.poll(ws.whole_mask(ws.rank, source) + i)) != epoch) return false;
  }
  return true;
}

/// Gives and takes what headers of large groups have no room for; whether `source` has told its mask. It does where it
/// sees that masks differ as well: it has this rank's header, or is about to. So it is not waited for long, and by one
/// thread, at the end of all that the phase does: a wait of the team's here would cost usual steps registers. [thread]
template <class Block, class Frame>
SWITCHYARD_DEVICE bool exchange_whole_masks(Block& block, const workspace_handle& ws, const Frame& frame,
                                            std::int32_t source) {
  if (ws.layout.dims.whole_mask_words() == 0) return true;
  post_whole_mask(block, ws, frame);
  const auto patience = block.now_ns() + std::uint64_t{Block::patience_ns};
  SWITCHYARD_ROLLED
  for (;;) {
    if (has_whole_mask(block, ws, source, frame.epoch)) return true;
    if (block.now_ns() > patience) return false;
  }
}

/// Of a record that is not about masks, for the mailbox. [thread]
SWITCHYARD_DEVICE inline void tell_no_difference(const workspace_handle& ws) {
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < ws.mailbox->only_expected.size(); ++i) {
    ws.mailbox->only_expected[i] = 0;
    ws.mailbox->only_actual[i] = 0;
  }
}

/// In which ranks the masks differ that `fault` is about, for the mailbox; nothing where it is about something else, or
/// where the other mask is known to another rank only, or to nobody. [thread]
template <class Block, class Frame>
SWITCHYARD_DEVICE_APART void tell_mask_difference(Block& block, const workspace_handle& ws, const Frame& frame,
                                                  const fault_record& fault) {
  tell_no_difference(ws);
  if (!has_masks(block, ws) || fault.from_notice != 0) return;
  const bool is_own = fault.code == fault_code::bad_mask;
  const bool is_theirs = fault.code == fault_code::mask_changed && exchange_whole_masks(block, ws, frame, fault.rank);
  if (!is_own && !is_theirs) return;
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < ws.mailbox->only_expected.size(); ++i) {
    const auto found =
        is_own ? judge_mask_word(block, ws, i)
               : mask_verdict{told_mask_word(block, ws, fault.rank, i, fault.actual), mask_of(ws, frame.which)[i]};
    ws.mailbox->only_expected[i] = found.legal & ~found.due;
    ws.mailbox->only_actual[i] = found.due & ~found.legal;
  }
}

}  // namespace switchyard::protocol
