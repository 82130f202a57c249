// SPDX-License-Identifier: Apache-2.0
// When each peer's header was first seen: one lane of the wait matrix a rank (docs/decisions/011).
#pragma once

#include <cstdint>

#include "protocol/params.hpp"

namespace switchyard::protocol {

/// Notes that the header of `source` is here, and how long after this rank's entry that was seen: 0 where it was there
/// when this rank first looked. Relaxed: its reader comes after the phase, or is content with what is there. [thread]
template <class Block, class Frame>
SWITCHYARD_DEVICE void note_arrival(Block& block, const workspace_handle& ws, const Frame& frame, std::int32_t source,
                                    std::uint64_t since_entry_ns) {
  const auto lasted = since_entry_ns < most_arrival_ns ? static_cast<std::uint32_t>(since_entry_ns) : most_arrival_ns;
  block.store_u64(ws.arrival(frame.which, source), layout::tagged(lasted, frame.epoch));
}

/// What was noted in the phase of `epoch`, and headers that nobody has looked for yet, for the mailbox. [thread]
template <class Block>
SWITCHYARD_DEVICE_APART void tell_arrivals(Block& block, const workspace_handle& ws, phase which, std::uint32_t epoch,
                                           std::uint64_t parity) {
  SWITCHYARD_ROLLED
  for (std::int32_t source = 0; source < ws.ep_size; ++source) {
    const auto noted = block.poll(ws.arrival(which, source));
    const auto digest = block.poll(ws.header(ws.rank, which, parity, source));
    auto arrival = layout::tag_of(digest) == epoch ? 0U : not_arrived;
    if (layout::tag_of(noted) == epoch) arrival = layout::data_of(noted);
    ws.mailbox->arrival_ns[static_cast<std::size_t>(source)] = arrival;
  }
}

}  // namespace switchyard::protocol
