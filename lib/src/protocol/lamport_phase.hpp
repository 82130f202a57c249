// SPDX-License-Identifier: Apache-2.0
// What the Lamport phases share: the credits by which re-armed memory is handed over, and trailers.
#pragma once

#include <cstdint>

#include "protocol/phase.hpp"

namespace switchyard::protocol {

/// Tells every rank that what this one has re-armed in earlier phases may be written again. Those re-arming stores are
/// of launches that have ended before this one on the stream, so they happen before the release here; it pairs with the
/// acquire in collect_credits of each peer, whose later launches store to the same words. A role of its own: nobody who
/// sends waits for the release.
template <block Block>
SWITCHYARD_DEVICE void grant_credits(Block& block, const workspace_handle& ws, const phase_frame& frame) {
  block.publish(
      static_cast<std::uint64_t>(ws.ep_size),
      [&](std::uint64_t peer) {
        return ws.header(static_cast<std::int32_t>(peer), frame.which, frame.parity, ws.rank) +
               static_cast<std::uint64_t>(header_word::rearm_credit);
      },
      layout::tagged(1, frame.epoch));
}

/// Acquires every rank's credit before the phase may end.
template <block Block>
SWITCHYARD_DEVICE bool collect_credits(Block& block, const workspace_handle& ws, const phase_frame& frame) {
  const auto has_come = [&](std::uint64_t source) {
    const auto* words = ws.header(ws.rank, frame.which, frame.parity, static_cast<std::int32_t>(source));
    const auto word = block.poll_flag(words + static_cast<std::uint64_t>(header_word::rearm_credit));
    return layout::tag_of(word) == frame.epoch;
  };
  const auto ranks = static_cast<std::uint64_t>(ws.ep_size);
  const auto status = block.wait_all(ranks, has_come, bounds_for(frame, awaited::header), [] { return false; });
  if (status == wait_status::ready) return true;
  std::uint64_t late = 0;
  SWITCHYARD_ROLLED
  while (late < ranks && has_come(late)) ++late;
  return settle(block, ws, frame, status, awaited::header, late < ranks ? static_cast<std::int32_t>(late) : -1);
}

/// The words of one sent row that travelled as stand-ins: a flag, then a bit for each word. In the scratch, zeroed
/// before each role.
struct exception_list {
  std::uint32_t* words;
  std::uint32_t units;

  static constexpr std::uint64_t scratch_words(std::uint64_t units) { return exception_scratch_words(1, units); }

  template <block Block>
  SWITCHYARD_DEVICE void add(Block& block, std::uint32_t unit, std::uint32_t bits) const {
    block.scratch_or(words, 1);
    block.scratch_or(words + 1 + unit / 16, bits << (2 * (unit % 16)));
  }
  [[nodiscard]] SWITCHYARD_DEVICE bool empty() const { return *words == 0; }
};

/// Completes a row whose units have been stored: the trailer, and behind it the list of exceptions where there are any.
/// [thread]
template <block Block>
SWITCHYARD_DEVICE void complete_row(Block& block, std::uint64_t* row, const exception_list& list, std::uint32_t slot) {
  block.store_word(row + layout::trailer_word(list.units), trailer_of(slot, !list.empty()));
  if (list.empty()) return;
  SWITCHYARD_ROLLED
  for (std::uint64_t i = 0; i < layout::exception_words(list.units); ++i) {
    block.store_word(row + layout::exceptions_word(list.units) + i, exception_word(list.words[1 + i]));
  }
}

}  // namespace switchyard::protocol
