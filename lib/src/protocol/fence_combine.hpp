// SPDX-License-Identifier: Apache-2.0
// Combine over the fence transport: owners push their experts' rows into the origins' inboxes behind released flags;
// origins sum them. Roles: combine_order.hpp. Some blocks send, and sum when all is sent; the others sum from the
// start.
//
// Why rows may be overwritten (invariant 3): an inbox was last read in its rank's previous combine. This rank's
// dispatch of this step has waited for that rank's dispatch header, which is posted after the previous combine has
// ended on its stream. What the experts wrote is read by this launch alone, on their own stream.
#pragma once

#include <cstdint>

#include "protocol/combine_order.hpp"
#include "protocol/mask_latch.hpp"
#include "protocol/phase.hpp"
#include "protocol/quantised_rows.hpp"
#include "protocol/routing.hpp"

namespace switchyard::protocol {

/// This rank's header for `origin`, with what it had from that rank in dispatch: both can tell whether they still speak
/// of the same routing.
template <block Block>
SWITCHYARD_DEVICE void tell_origin(Block& block, const combine_params& p, const phase_frame& frame,
                                   std::int32_t origin) {
  const auto& ws = p.ws;
  if (!active_in(block, ws, phase::combine).contains(origin)) return;
  const auto* sent = ws.header(ws.rank, phase::dispatch, frame.parity, origin);  // its tags have been checked there
  const auto words = fixed_header_words + (p.tokens_per_rank + 31) / 32;
  auto* slot = ws.header(origin, phase::combine, frame.parity, ws.rank);
  SWITCHYARD_ROLLED
  for (std::uint64_t i = block.thread_index(); i < words; i += block.num_threads()) {
    if (i >= bitmap_word || i == static_cast<std::uint64_t>(header_word::row_count)) {
      block.post(slot + i, layout::tagged(layout::data_of(block.poll(sent + i)), frame.epoch));
    } else if (!is_posted_apart(i)) {
      post_fixed_word(block, ws, frame, p.words, origin, static_cast<std::uint32_t>(i));
    }
  }
}

// The form in which outputs travel follows from the type of the parameters: as they are, or in low precision.
// `row_bytes`: of an output as it is.
SWITCHYARD_DEVICE constexpr std::uint64_t returned_row_bytes(const combine_params&, std::uint64_t row_bytes) {
  return row_bytes;
}
SWITCHYARD_DEVICE constexpr std::uint64_t returned_row_bytes(const quantised_combine_params& p, std::uint64_t) {
  return layout::quantised_row_bytes(p.ws.layout.dims.combine_format, p.elements);
}
template <block Block>
SWITCHYARD_DEVICE void put_output(Block& block, const combine_params&, std::byte* out, const std::byte* in,
                                  std::uint64_t row_bytes) {
  block.put(out, in, row_bytes);
}
template <quantising_block Block>
SWITCHYARD_DEVICE void put_output(Block& block, const quantised_combine_params& p, std::byte* out, const std::byte* in,
                                  std::uint64_t) {
  block.put_quantised(out, in, shape_of(p));
}

/// Pushes one chunk of the `rows` rows that came from `origin`, each to the place in its inbox that it asked for.
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE void send_outputs(Block& block, const Params& p, const phase_frame& frame, std::int32_t origin,
                                    std::uint64_t rows, std::uint32_t chunk) {
  const workspace_handle& ws = p.ws;
  const auto first = std::uint64_t{chunk} << p.chunk_shift;
  auto* return_rows = ws.return_rows(ws.rank, origin) + first;
  const auto last = first + p.chunk_tokens() < rows ? first + p.chunk_tokens() : rows;
  if (first >= last) return;
  const auto row_bytes = p.elements * itemsize(p.type);
  const auto from = static_cast<std::uint64_t>(origin) * p.tokens_per_rank + first;
  const auto* outputs = p.expert_output + from * row_bytes;
  auto* inbox = ws.at<std::byte>(origin, ws.layout.offset_of(layout::region::combine_inbox));
  block.for_each_row(last - first, [&](std::uint64_t i) {
    // Peers store these: read as such, past caches that they do not reach.
    const auto place = block.load_u32(return_rows + i);
    put_output(block, p, inbox + wide_product(place, returned_row_bytes(p, row_bytes)), outputs + i * row_bytes,
               row_bytes);
  });
  // Releases the rows to sum_tokens at the origin.
  block.publish(
      1, [&](std::uint64_t) { return ws.combine_flag(origin, ws.rank, chunk); }, layout::tagged(1, frame.epoch));
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
  SWITCHYARD_ROLLED
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
SWITCHYARD_DEVICE bool check_owner(Block& block, const combine_params& p, const phase_frame& frame, std::int32_t owner,
                                   header_tally& tally) {
  const auto& ws = p.ws;
  if (!active_in(block, ws, phase::combine).contains(owner)) return true;
  const auto* kept = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::sent_bitmaps)) +
                     static_cast<std::uint64_t>(owner) * ws.layout.dims.bitmap_words();
  const auto compare_word = [&](std::uint64_t word, std::uint32_t theirs) {
    if (theirs != kept[word]) block.scratch_add(&tally.found, 1);
  };
  if (!await_header(block, ws, frame, p.tokens_per_rank, owner, tally, compare_word)) return false;
  std::uint32_t sent = 0;
  SWITCHYARD_ROLLED
  for (std::uint64_t word = block.thread_index(); word * 32 < p.tokens_per_rank; word += block.num_threads()) {
    sent += static_cast<std::uint32_t>(std::popcount(kept[word] & bits_within(word, 0, p.tokens_per_rank)));
  }
  const auto rows = block.team_sum(sent);
  if (tally.found == 0 && rows == tally.told_rows) return true;
  raise_from_echo<Block>(block, p, frame, owner, rows, tally.told_rows);
  return false;
}

/// is_own(slot): whether the row is one of this rank's outputs, which have not travelled.
template <block Block, class RowAt, class IsOwn>
SWITCHYARD_DEVICE void sum_outputs(Block& block, const combine_params& p, std::byte* out, std::uint32_t num_rows,
                                   const RowAt& row_at, const IsOwn&) {
  block.sum_rows(out, num_rows, row_at, p.elements, p.type);
}
template <quantising_block Block, class RowAt, class IsOwn>
SWITCHYARD_DEVICE void sum_outputs(Block& block, const quantised_combine_params& p, std::byte* out,
                                   std::uint32_t num_rows, const RowAt& row_at, const IsOwn& is_own) {
  block.sum_quantised(out, num_rows, row_at, is_own, shape_of(p));
}

/// Waits for the rows of tokens [first, last) and sums them: its own experts' where they are, other ranks' from the
/// inbox. `routes` is scratch for those of the tokens.
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE bool sum_tokens(Block& block, const Params& p, const phase_frame& frame, std::uint64_t first,
                                  std::uint64_t last, layout::route* routes) {
  const workspace_handle& ws = p.ws;
  const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
  const auto* kept = ws.local<layout::route>(ws.layout.offset_of(layout::region::routes)) + wide_product(first, slots);
  const auto has_come = [&](layout::route route) {
    if (route.rank < 0 || route.rank == ws.rank) return true;
    const auto* flag = ws.combine_flag(ws.rank, route.rank, route.row >> p.chunk_shift);
    return layout::tag_of(block.poll_flag(flag)) == frame.epoch;
  };
  // Acquires the rows: pairs with publish in send_outputs at each owner.
  const auto is_here = [&](std::uint64_t i) {
    const auto route = kept[i];
    routes[i] = route;
    return has_come(route);
  };
  const auto needed = wide_product(last - first, slots);
  const auto status = block.wait_all(needed, is_here, bounds_for(frame, awaited::rows), [] { return false; });
  if (status != wait_status::ready) {
    std::uint64_t late = 0;
    SWITCHYARD_ROLLED
    while (late < needed && has_come(kept[late])) ++late;
    return settle(block, ws, frame, status, awaited::rows, late < needed ? kept[late].rank : -1);
  }

  const auto row_bytes = p.elements * itemsize(p.type);
  const auto own_row = static_cast<std::uint64_t>(ws.rank) * p.tokens_per_rank;
  const auto* inbox = ws.local<const std::byte>(ws.layout.offset_of(layout::region::combine_inbox));
  block.for_each_row(last - first, [&](std::uint64_t i) {
    const auto* token_routes = routes + wide_product(i, slots);
    const auto inbox_row = wide_product(first + i, slots);
    std::uint32_t num_rows = 0;
    SWITCHYARD_ROLLED
    while (num_rows < slots && token_routes[num_rows].rank >= 0) ++num_rows;
    const auto is_own = [&](std::uint32_t slot) { return token_routes[slot].rank == ws.rank; };
    const auto row_at = [&](std::uint32_t slot) {
      const auto route = token_routes[slot];
      return route.rank == ws.rank ? p.expert_output + wide_product(own_row + route.row, row_bytes)
                                   : inbox + wide_product(inbox_row + slot, returned_row_bytes(p, row_bytes));
    };
    sum_outputs(block, p, p.output + wide_product(first + i, row_bytes), num_rows, row_at, is_own);
  });
  return true;
}

/// The first `senders` blocks to come take the roles that send, one after the other, until there are none left. What
/// waits, checks of headers and then sums, has tickets of its own, which all other blocks take at once, and those that
/// sent take then. So a block waits only when one that does not has come before it and goes on until all is sent; a
/// role is drawn by who runs it next, so that no block need come for it. Returns whether all went well.
template <block Block, combine_kind Params, class Prepare>
SWITCHYARD_DEVICE bool send_and_sum(Block& block, const Params& p, const phase_frame& frame, header_tally& tally,
                                    const std::uint32_t* rows_from, layout::route* routes, Prepare prepare) {
  const workspace_handle& ws = p.ws;
  const combine_order order(p.chunks(), ws.ep_size, ws.rank);
  const auto checks = static_cast<std::uint32_t>(ws.ep_size);
  const auto num_tokens = static_cast<std::uint32_t>(p.num_tokens);
  const auto waits = checks + (num_tokens == 0 ? 0U : ((num_tokens - 1) >> p.reduce_shift) + 1);
  const auto ticket = static_cast<std::uint32_t>(frame.first_role);
  // With a block for everything, each has its own, and nobody need draw again.
  const bool one_each = ws.num_blocks >= order.size() + waits;
  const auto draw = [&](std::uint32_t* word) { return block.thread_index() == 0 ? block.draw_ticket(word) : 0U; };
  if (one_each ? ticket < order.size() : ticket < p.senders) {
    SWITCHYARD_ROLLED
    for (;;) {
      const auto drawn = one_each ? ticket : block.broadcast(draw(&ws.round().next_role));
      if (drawn >= order.size()) break;
      const auto role = order.at(drawn);
      if (role.work == combine_work::tell) {
        tell_origin(block, p, frame, role.rank);
      } else {
        send_outputs(block, p, frame, role.rank, rows_from[role.rank], role.chunk);
      }
      if (one_each) return true;
    }
  }
  // All that is to be sent has begun to be when every block has come here, or has ended.
  block.allow_next_launch();
  auto wait = one_each ? ticket - order.size() : block.broadcast(draw(&ws.round().next_wait));
  SWITCHYARD_ROLLED
  while (wait < waits) {
    const auto next = one_each ? waits : draw(&ws.round().next_wait);  // under way meanwhile
    if (wait < checks) {
      if (!check_owner(block, p, frame, static_cast<std::int32_t>(wait), tally)) return false;
      if (one_each) break;
      block.sync();  // the next check uses the tally again
      prepare();
    } else {
      const auto first = std::uint64_t{wait - checks} << p.reduce_shift;
      const auto last = first + p.reduce_tokens() < p.num_tokens ? first + p.reduce_tokens() : p.num_tokens;
      if (!sum_tokens(block, p, frame, first, last, routes)) return false;
      if (one_each) break;
    }
    wait = block.broadcast(next);
  }
  return true;
}

template <block Block, combine_kind Params>
SWITCHYARD_DEVICE void fence_combine(Block& block, const Params& p) {
  auto* words = block.scratch(scratch_words(p));
  auto& tally = *reinterpret_cast<header_tally*>(words);
  auto* rows_from = words + header_tally_words;
  const auto ranks = static_cast<std::uint32_t>(p.ws.ep_size);
  auto* routes = reinterpret_cast<layout::route*>(words + combine_routes_word(ranks));
  const auto prepare = [&] {
    SWITCHYARD_ROLLED
    for (std::uint64_t i = block.thread_index(); i < header_tally_words; i += block.num_threads()) words[i] = 0;
  };
  const auto frame = enter(block, p.ws, phase::combine, p.words, p.words_digest, [&] {
    prepare();
    // How many rows came from each rank, of the headers of this step's dispatch, which were checked there. A rank that
    // is masked off has left those of an older step.
    const auto active = active_in(block, p.ws, phase::combine);
    const auto parity = p.ws.round().step_index & 1U;
    SWITCHYARD_ROLLED
    for (std::uint32_t rank = block.thread_index(); rank < ranks; rank += block.num_threads()) {
      const auto* sent = p.ws.header(p.ws.rank, phase::dispatch, parity, static_cast<std::int32_t>(rank));
      const auto rows = layout::data_of(block.poll(sent + static_cast<std::uint64_t>(header_word::row_count)));
      rows_from[rank] = active.contains(static_cast<std::int32_t>(rank)) ? rows : 0;
    }
  });
  if (frame.open && frame.first_role == 0) forget_dropped(block, p.ws);
  const bool succeeded = frame.open && send_and_sum(block, p, frame, tally, rows_from, routes, prepare);
  // A failed combine must not be mistaken for a result.
  leave(block, p.ws, frame, succeeded, [&] { block.fill_nan(p.output, p.num_tokens * p.elements, p.type); });
}

}  // namespace switchyard::protocol
