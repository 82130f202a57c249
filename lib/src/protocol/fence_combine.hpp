// SPDX-License-Identifier: Apache-2.0
// Combine over the fence transport: owners offer their experts' rows behind released flags, origins pull and sum them.
//
// Roles, in ticket order: offer roles (one per origin, or one per origin and chunk when rows are copied first), then
// one check role per owner, then reduce roles over this rank's tokens.
// Why rows may be overwritten (invariant 3): combine_rows of this rank were last read by peers in the previous combine.
// This rank's dispatch of this step has waited for every peer's dispatch header, which a peer posts after its previous
// combine has ended on its stream.
#pragma once

#include <cstdint>

#include "protocol/phase.hpp"
#include "protocol/routing.hpp"

namespace switchyard::protocol {

/// Offers the rows that came from `origin`: those of chunk `chunk`, or all of them when nothing has to be copied.
template <block Block>
SWITCHYARD_DEVICE bool offer_rows(Block& block, const combine_params& p, const phase_frame& frame, std::int32_t origin,
                                  std::uint64_t chunk) {
  const auto& ws = p.ws;
  const bool copies = p.expert_output != nullptr;
  // Our copy of what the origin sent in this step's dispatch; its tag has been checked there.
  const auto* sent = ws.header(ws.rank, phase::dispatch, frame.parity, origin);
  const std::uint64_t rows = layout::data_of(block.poll(sent + static_cast<std::uint64_t>(header_word::row_count)));

  const auto first = copies ? chunk * p.chunk_tokens : 0;
  const auto last = copies && first + p.chunk_tokens < rows ? first + p.chunk_tokens : rows;
  if (first < last) {
    if (copies) {
      const auto row_bytes = p.elements * itemsize(p.type);
      const auto at = (static_cast<std::uint64_t>(origin) * p.tokens_per_rank + first) * row_bytes;
      auto* offered = ws.local<std::byte>(ws.layout.offset_of(layout::region::combine_rows));
      block.copy_local(offered + at, p.expert_output + at, (last - first) * row_bytes);
    }
    // Releases the rows, whoever wrote them (this copy, or the experts before us on the stream), to reduce_tokens.
    const auto first_flag = first / p.chunk_tokens;
    const auto num_flags = (last + p.chunk_tokens - 1) / p.chunk_tokens - first_flag;
    block.publish(
        num_flags, [&](std::uint64_t i) { return ws.flag(origin, phase::combine, ws.rank, first_flag + i); },
        layout::tagged(1, frame.epoch));
  }
  // After the rows, whose fence would otherwise wait for these words too; neither needs the other.
  if (chunk == 0) {
    const auto words = fixed_header_words + (p.tokens_per_rank + 31) / 32;
    auto* slot = ws.header(origin, phase::combine, frame.parity, ws.rank);
    for (std::uint64_t i = block.thread_index(); i < words; i += block.num_threads()) {
      if (i >= bitmap_word || i == static_cast<std::uint64_t>(header_word::row_count)) {
        // Echoed, so that the origin can tell that both still speak of the same routing.
        block.post(slot + i, layout::tagged(layout::data_of(block.poll(sent + i)), frame.epoch));
      } else {
        post_fixed_word(block, ws, frame, origin, i);
      }
    }
  }
  return true;
}

/// The fault of an owner that speaks of another routing: the first bitmap word that differs, or else the counts.
template <block Block>
SWITCHYARD_DEVICE_APART void raise_from_echo(handed_over<Block> block, const combine_params& p, phase_frame frame,
                                             std::int32_t owner, std::uint32_t rows, std::uint32_t told) {
  const auto& ws = p.ws;
  const auto* echo = ws.header(ws.rank, phase::combine, frame.parity, owner) + bitmap_word;
  const auto* kept = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::sent_bitmaps)) +
                     static_cast<std::uint64_t>(owner) * ws.layout.dims.bitmap_words();
  fault_record fault;
  fault.code = fault_code::step_mismatch;
  fault.rank = owner;
  fault.field = step_field::row_count;
  fault.expected = rows;
  fault.actual = told;
  for (std::uint64_t word = 0; word < (p.tokens_per_rank + 31) / 32; ++word) {
    const auto theirs = layout::data_of(block.poll(echo + word));
    if (theirs == kept[word]) continue;
    fault.field = step_field::routed_bitmap;
    fault.expected = kept[word];
    fault.actual = theirs;
    break;
  }
  raise(block, ws, frame, fault);
}

/// Waits for the owner's header and compares its echo of the routing with what this rank sent.
template <block Block>
SWITCHYARD_DEVICE bool check_owner(Block& block, const combine_params& p, const phase_frame& frame,
                                   std::int32_t owner) {
  const auto& ws = p.ws;
  if (!await_header(block, ws, frame, p.tokens_per_rank, owner)) return false;
  const auto* echo = ws.header(ws.rank, phase::combine, frame.parity, owner);
  const auto* kept = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::sent_bitmaps)) +
                     static_cast<std::uint64_t>(owner) * ws.layout.dims.bitmap_words();
  const auto words = (p.tokens_per_rank + 31) / 32;
  const auto theirs_at = [&](std::uint64_t word) { return layout::data_of(block.poll(echo + bitmap_word + word)); };
  std::uint32_t differing = 0;
  for (std::uint64_t word = block.thread_index(); word < words; word += block.num_threads()) {
    if (theirs_at(word) != kept[word]) ++differing;
  }
  const bool same_bitmap = block.team_sum(differing) == 0;
  const auto rows = count_bits_together(
      block, [kept](std::uint64_t w) { return kept[w]; }, p.tokens_per_rank);
  const auto told = layout::data_of(block.poll(echo + static_cast<std::uint64_t>(header_word::row_count)));
  if (same_bitmap && rows == told) return true;
  raise_from_echo<Block>(block, p, frame, owner, rows, told);
  return false;
}

/// Sums the rows of tokens [first, last).
template <block Block>
SWITCHYARD_DEVICE bool reduce_tokens(Block& block, const combine_params& p, const phase_frame& frame,
                                     std::uint64_t first, std::uint64_t last) {
  const auto& ws = p.ws;
  const auto slots = ws.layout.dims.slots();
  const auto* routes = ws.local<layout::route>(ws.layout.offset_of(layout::region::routes)) + first * slots;
  const auto is_offered = [&](std::uint64_t i) {
    const auto route = routes[i];
    if (route.rank < 0) return true;
    const auto* flag = ws.flag(ws.rank, phase::combine, route.rank, route.row / p.chunk_tokens);
    return layout::tag_of(block.poll(flag)) == frame.epoch;
  };
  // Acquires the rows: pairs with publish in offer_rows at each owner.
  const auto needed = (last - first) * slots;
  const auto status = block.wait_all(needed, is_offered, bounds_for(frame, awaited::rows), [] { return false; });
  if (status != wait_status::ready) {
    std::uint64_t late = 0;
    while (late < needed && is_offered(late)) ++late;
    return settle(block, ws, frame, status, awaited::rows, late < needed ? routes[late].rank : -1);
  }

  const auto row_bytes = p.elements * itemsize(p.type);
  const auto offered = ws.layout.offset_of(layout::region::combine_rows);
  block.for_each_row(last - first, [&](std::uint64_t i) {
    const std::byte* rows[max_top_k];
    std::uint32_t num_rows = 0;
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      const auto route = routes[i * slots + slot];
      if (route.rank < 0) break;
      const auto row = static_cast<std::uint64_t>(ws.rank) * p.tokens_per_rank + route.row;
      rows[num_rows++] = ws.at<const std::byte>(route.rank, offered + row * row_bytes);
    }
    block.reduce_rows(p.output + (first + i) * row_bytes, rows, num_rows, p.elements, p.type);
  });
  return true;
}

template <block Block>
SWITCHYARD_DEVICE void fence_combine(Block& block, const combine_params& p) {
  const auto frame = enter(block, p.ws, phase::combine, p.words, p.words_digest);
  if (frame.open) {
    const auto ranks = static_cast<std::uint64_t>(p.ws.ep_size);
    const auto chunks = p.expert_output == nullptr ? 1 : (p.tokens_per_rank + p.chunk_tokens - 1) / p.chunk_tokens;
    const auto offers = ranks * chunks;
    const auto reduces = (p.num_tokens + p.reduce_tokens - 1) / p.reduce_tokens;
    run_roles(block, p.ws, offers + ranks + reduces, [&](std::uint64_t role) {
      if (role < offers) {
        // Chunk-major: every origin's first rows before any origin's last.
        return offer_rows(block, p, frame, static_cast<std::int32_t>(role % ranks), role / ranks);
      }
      if (role < offers + ranks) return check_owner(block, p, frame, static_cast<std::int32_t>(role - offers));
      const auto first = (role - offers - ranks) * p.reduce_tokens;
      const auto last = first + p.reduce_tokens < p.num_tokens ? first + p.reduce_tokens : p.num_tokens;
      return reduce_tokens(block, p, frame, first, last);
    });
  }
  // A failed combine must not be mistaken for a result.
  leave(block, p.ws, frame, [&] { block.fill_nan(p.output, p.num_tokens * p.elements, p.type); });
}

}  // namespace switchyard::protocol
