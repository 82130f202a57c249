// SPDX-License-Identifier: Apache-2.0
// Combine over the Lamport transport: owners store their experts' rows, word by word its own flag, into the origins'
// inboxes; origins sum the words as they come, in slot order, and re-arm each right after they took it.
//
// Roles, in ticket order: credits granted; headers told; sends; headers checked; sums; credits collected. All that is
// sent is sent before any wait, so one block alone gets through.
// Why words may be overwritten (invariant 3): docs/decisions/009-lamport-rearming.md. This combine stores to words that
// their origin took, and re-armed, in an earlier combine; the origin's dispatch of this step granted a credit after
// that, which this rank's dispatch of this step has acquired.
#pragma once

#include <cstdint>

#include "protocol/fence_combine.hpp"
#include "protocol/lamport_phase.hpp"

namespace switchyard::protocol {

/// A block's tables in its scratch, for one role at a time. Where they lie is worked out at each use: registers are
/// scarcer.
struct lamport_combine_scratch {
  std::uint32_t* words = nullptr;

  static constexpr std::uint32_t no_place = ~std::uint32_t{0};

  [[nodiscard]] SWITCHYARD_DEVICE header_tally& tally() const { return *reinterpret_cast<header_tally*>(words); }
  /// sum: [slots] of a token.
  [[nodiscard]] SWITCHYARD_DEVICE layout::route* routes() const {
    return reinterpret_cast<layout::route*>(words + combine_routes_word(0));
  }
  /// send: [tokens of the chunk] in the origin's inbox, or no_place.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint32_t* places() const { return words + combine_routes_word(0); }
  /// send: of the chunk's token `index`; the lists lie behind the places.
  [[nodiscard]] SWITCHYARD_DEVICE exception_list exceptions_of(const combine_params& p, std::uint32_t index) const {
    const auto units = p.outputs.units_of_row();
    const auto stride = static_cast<std::uint32_t>(exception_list::scratch_words(units));
    return {places() + p.chunk_tokens() + index * stride, units};
  }
  /// Empties what a role counts or lists in. The team synchronises after.
  template <block Block>
  SWITCHYARD_DEVICE void prepare(Block& block, const combine_params& p) const {
    const auto listed = static_cast<std::uint32_t>(exception_scratch_words(p.chunk_tokens(), p.outputs.units_of_row()));
    SWITCHYARD_ROLLED
    for (std::uint32_t i = block.thread_index(); i < header_tally_words; i += block.num_threads()) words[i] = 0;
    auto* lists = exceptions_of(p, 0).words;
    SWITCHYARD_ROLLED
    for (std::uint32_t i = block.thread_index(); i < listed; i += block.num_threads()) lists[i] = 0;
  }
};

SWITCHYARD_DEVICE inline std::uint64_t* output_row(const workspace_handle& ws, std::int32_t origin,
                                                   std::uint64_t place) {
  return ws.at<std::uint64_t>(origin, ws.layout.lamport_output_offset(place));
}

/// Stores the outputs of a few of the tokens that came from `origin`, each to the place in its inbox that it asked for.
template <block Block>
SWITCHYARD_DEVICE void send_output_words(Block& block, const combine_params& p, const phase_frame& frame,
                                         const lamport_combine_scratch& s, std::int32_t origin, std::uint32_t chunk) {
  const auto& ws = p.ws;
  const auto* sent = ws.header(ws.rank, phase::dispatch, frame.parity, origin) + bitmap_word;
  auto* return_rows = ws.return_rows(ws.rank, origin);
  const auto first = chunk << p.chunk_shift;
  const auto rest = static_cast<std::uint32_t>(p.tokens_per_rank) - first;
  const auto count = rest < p.chunk_tokens() ? rest : static_cast<std::uint32_t>(p.chunk_tokens());
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); i < count; i += block.num_threads()) {
    const auto token = first + i;
    const auto bits = layout::data_of(block.poll(sent + token / 32));
    const auto place = block.load_u32(return_rows + token);  // under way together with the bits
    s.places()[i] = (bits >> token % 32 & 1U) != 0 ? place : lamport_combine_scratch::no_place;
  }
  block.sync();
  const auto first_row = wide_product(static_cast<std::uint32_t>(origin), p.tokens_per_rank) + first;
  block.for_each_row(count, [&](std::uint64_t i) {
    const auto place = s.places()[i];
    if (place == lamport_combine_scratch::no_place) return;
    block.send_words(
        p.outputs, first_row + i, 1, [&](std::uint32_t) { return output_row(ws, origin, place); },
        [&](std::uint32_t unit, std::uint32_t bits) {
          s.exceptions_of(p, static_cast<std::uint32_t>(i)).add(block, unit, bits);
        });
  });
  block.sync();
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); i < count; i += block.num_threads()) {
    if (s.places()[i] == lamport_combine_scratch::no_place) continue;
    complete_row(block, output_row(ws, origin, s.places()[i]), s.exceptions_of(p, i), 0);
  }
}

/// Sums the outputs of one token as they come: its own experts' from where they are, other ranks' from the inbox.
template <block Block>
SWITCHYARD_DEVICE bool sum_arriving(Block& block, const combine_params& p, const phase_frame& frame,
                                    const lamport_combine_scratch& s, std::uint32_t token) {
  const auto& ws = p.ws;
  const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
  const auto first_place = wide_product(token, slots);
  const auto* kept = ws.local<layout::route>(ws.layout.offset_of(layout::region::routes)) + first_place;
  SWITCHYARD_ROLLED
  for (auto slot = block.thread_index(); slot < slots; slot += block.num_threads()) s.routes()[slot] = kept[slot];
  block.sync();
  std::uint32_t sources = 0;
  SWITCHYARD_ROLLED
  while (sources < slots && s.routes()[sources].rank >= 0) ++sources;

  // Worked out anew at each use: registers are scarcer.
  const auto source_at = [&p, &ws, s, token](std::uint32_t slot) {
    const auto route = s.routes()[slot];
    if (route.rank != ws.rank) {
      const auto place = wide_product(token, static_cast<std::uint32_t>(ws.layout.dims.slots())) + slot;
      return arriving_output{nullptr, output_row(ws, ws.rank, place)};
    }
    const auto row = static_cast<std::uint32_t>(ws.rank) * static_cast<std::uint32_t>(p.tokens_per_rank) + route.row;
    return arriving_output{p.expert_output + wide_product(row, p.outputs.items[0].row_bytes), nullptr};
  };
  const auto status = block.take_sum(p.output + wide_product(token, p.outputs.items[0].row_bytes), sources, source_at,
                                     p.elements, p.type, bounds_for(frame, awaited::rows));
  if (status != wait_status::ready) {
    // What was taken of a row is gone, so the trailer, which stays, tells who is late.
    std::int32_t late = -1;
    SWITCHYARD_ROLLED
    for (std::uint32_t slot = 0; slot < sources && late < 0; ++slot) {
      const auto source = source_at(slot);
      if (source.words != nullptr && !is_closed(block, source.words, p.outputs.units_of_row()))
        late = s.routes()[slot].rank;
    }
    return settle(block, ws, frame, status, awaited::rows, late);
  }
  SWITCHYARD_ROLLED
  for (auto slot = block.thread_index(); slot < sources; slot += block.num_threads()) {
    const auto source = source_at(slot);
    if (source.words != nullptr) close_row(block, source.words, p.outputs.units_of_row());
  }
  return true;
}

template <block Block>
SWITCHYARD_DEVICE void lamport_combine(Block& block, const combine_params& p) {
  const lamport_combine_scratch s{block.scratch(scratch_words(p))};
  const auto frame = enter(block, p.ws, phase::combine, p.words, p.words_digest, [&] { s.prepare(block, p); });
  bool succeeded = frame.open;
  if (frame.open) {
    const auto& ws = p.ws;
    const auto ranks = static_cast<std::uint32_t>(ws.ep_size);
    const auto peers = ranks - 1;
    const auto first_send = 1 + ranks;
    const auto first_check = first_send + peers * p.chunks();
    const auto first_sum = first_check + ranks;
    const auto num_tokens = static_cast<std::uint32_t>(p.num_tokens);
    const auto collect = first_sum + (num_tokens == 0 ? 0U : ((num_tokens - 1) >> p.reduce_shift) + 1);
    succeeded = run_roles(
        block, ws, frame, std::uint64_t{collect} + 1, first_check, [&] { s.prepare(block, p); },
        [&](std::uint64_t drawn) {
          const auto role = static_cast<std::uint32_t>(drawn);
          if (role == 0) {
            grant_credits(block, ws, frame);
            return true;
          }
          if (role < first_send) {
            tell_origin(block, p, frame, static_cast<std::int32_t>(role - 1));
            return true;
          }
          if (role < first_check) {
            // The first tokens of every origin before the second ones of any, each rank beginning with another.
            const auto send = role - first_send;
            const auto origin = (static_cast<std::uint32_t>(ws.rank) + 1 + send % peers) % ranks;
            send_output_words(block, p, frame, s, static_cast<std::int32_t>(origin), send / peers);
            return true;
          }
          if (role < first_sum) {
            return check_owner(block, p, frame, static_cast<std::int32_t>(role - first_check), s.tally());
          }
          if (role == collect) return collect_credits(block, ws, frame);
          const auto first = (role - first_sum) << p.reduce_shift;
          const auto last = first + static_cast<std::uint32_t>(p.reduce_tokens());
          SWITCHYARD_ROLLED
          for (auto token = first; token < last && token < num_tokens; ++token) {
            if (token != first) block.sync();  // the routes of the last one have been looked at
            if (!sum_arriving(block, p, frame, s, token)) return false;
          }
          return true;
        });
  }
  // A failed combine must not be mistaken for a result.
  leave(block, p.ws, frame, succeeded, [&] { block.fill_nan(p.output, p.num_tokens * p.elements, p.type); });
}

}  // namespace switchyard::protocol
