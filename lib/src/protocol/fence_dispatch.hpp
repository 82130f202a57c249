// SPDX-License-Identifier: Apache-2.0
// Dispatch over the fence transport: rows, then one released flag a source.
//
// Roles, in ticket order: one send role per chunk of this rank's T tokens, then the receive roles of each source. Every
// block routes the tokens before its own chunk too, or all tokens at once where they are few, for the rows that they
// take: reading ids again is cheaper than to wait for other blocks' counts, and no block then waits for another of its
// rank. Why buffers may be overwritten (invariant 3): this rank's stream has ended the previous step's combine, which
// waited for every peer's combine header; a peer posts that header after its experts have read its receive buffers. So
// every peer is past reading what this dispatch overwrites, but for two things. Header slots: a peer may still be in
// the previous combine, reading the bitmaps of that step; those lie in the slots of the other parity. Return rows: this
// rank's combine had every output that it was due, and a peer reads a return row before it sends that output.
// One flag for all chunks, because nothing is done with rows before the phase ends, and to release at system scope for
// every chunk costs more than to count among the blocks of a rank which of them is the last.
#pragma once

#include <cstdint>

#include "protocol/eplb_stats.hpp"
#include "protocol/mask_latch.hpp"
#include "protocol/phase.hpp"
#include "protocol/routing.hpp"

namespace switchyard::protocol {

/// A block's tables in its scratch.
struct dispatch_scratch {
  header_tally* tally = nullptr;
  std::uint32_t* base = nullptr;    ///< [ep_size] rows of the tokens before the span, for each rank; kept between roles
  std::uint32_t* bits = nullptr;    ///< [ep_size, words] the tokens for each rank: those of the span, or all
  std::uint32_t* owners = nullptr;  ///< [tokens of the chunk, slots] 1 + distinct ranks in slot order, then 0
  std::uint32_t ranks = 0;
  std::uint32_t words = 0;   ///< of bits, for a rank
  std::uint32_t places = 0;  ///< of owners

  template <block Block>
  SWITCHYARD_DEVICE static dispatch_scratch of(Block& block, const dispatch_params& p) {
    dispatch_scratch s;
    auto* words = block.scratch(scratch_words(p));
    s.ranks = static_cast<std::uint32_t>(p.ws.ep_size);
    s.words = static_cast<std::uint32_t>((p.routed_tokens() + 31) / 32);
    s.places = static_cast<std::uint32_t>(p.chunk_tokens() * p.ws.layout.dims.slots());
    s.tally = reinterpret_cast<header_tally*>(words);
    s.base = words + header_tally_words;
    s.bits = s.base + s.ranks;
    s.owners = s.bits + s.ranks * s.words;
    return s;
  }
  /// Empties what a role fills in. The team synchronises after.
  template <block Block>
  SWITCHYARD_DEVICE void prepare(Block& block, bool first, bool routes_all) const {
    auto* all = reinterpret_cast<std::uint32_t*>(tally);
    const auto first_of_base = static_cast<std::uint32_t>(header_tally_words);
    const auto last = first_of_base + ranks + ranks * words + places;
    const auto first_to_fill = first_of_base + ranks + (routes_all ? ranks * words : 0);
    SWITCHYARD_ROLLED
    for (std::uint32_t i = block.thread_index(); i < last; i += block.num_threads()) {
      if (i < first_of_base || (first && !routes_all) || i >= first_to_fill) all[i] = 0;
    }
  }
  /// Routes all tokens, for all roles of the block. The team synchronises after.
  template <block Block>
  SWITCHYARD_DEVICE void route_all(Block& block, const dispatch_params& p) const {
    block.mark_owners(0, 32 * words, p.routing, ranks, [&](std::uint32_t rank, std::uint32_t word, std::uint32_t set) {
      bits[rank * words + word] = set;
    });
  }
};

/// A send role's part of the tokens.
struct chunk_frame {
  std::uint32_t first = 0;  ///< tokens [first, last) are sent by this role; last <= T
  std::uint32_t last = 0;
  std::uint32_t span_first = 0;  ///< the same, widened to whole bitmap words
  std::uint32_t span_last = 0;
  std::uint32_t end = 0;         ///< of the tokens that there are: <= n
  std::uint32_t first_word = 0;  ///< of the span, in a rank's bits
};

constexpr chunk_frame chunk_of(const dispatch_params& p, std::uint32_t chunk) {
  const auto tokens_per_rank = static_cast<std::uint32_t>(p.tokens_per_rank);
  const auto num_tokens = static_cast<std::uint32_t>(p.num_tokens);
  const auto chunk_tokens = std::uint32_t{1} << p.chunk_shift;
  chunk_frame c;
  c.first = chunk << p.chunk_shift;
  c.last = tokens_per_rank - c.first > chunk_tokens ? c.first + chunk_tokens : tokens_per_rank;
  c.span_first = c.first & ~31U;
  c.span_last = (c.last + 31) & ~31U;
  c.end = c.last < num_tokens ? c.last : num_tokens;
  if (p.routes_all) c.first_word = c.span_first / 32;
  return c;
}

/// Where all tokens are routed already: adds up the rows before the span, and lists the ranks of the chunk's tokens, in
/// whatever order, for rows have none.
template <block Block>
SWITCHYARD_DEVICE void look_up_routes(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                      const chunk_frame& c) {
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); c.first + i < c.end; i += block.num_threads()) {
    const auto bit = c.first + i - c.span_first;
    auto* list = s.owners + i * slots;
    SWITCHYARD_ROLLED
    for (std::uint32_t rank = 0; rank < s.ranks; ++rank) {
      if ((s.bits[rank * s.words + c.first_word + bit / 32] >> (bit % 32) & 1U) != 0) *list++ = rank + 1;
    }
  }
  // By the last threads, which have no tokens where these are few.
  SWITCHYARD_ROLLED
  for (auto rank = block.num_threads() - 1 - block.thread_index(); rank < s.ranks; rank += block.num_threads()) {
    const auto* words = s.bits + rank * s.words;
    std::uint32_t count = 0;
    for (std::uint32_t w = 0; w < c.first_word; ++w) count += static_cast<std::uint32_t>(std::popcount(words[w]));
    s.base[rank] = count;
  }
}

/// Routes the tokens from `tallied` on: those before the span add to base, those of the span set bits, those of the
/// chunk have their ranks listed.
template <block Block>
SWITCHYARD_DEVICE void route_tokens(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                    const chunk_frame& c, std::uint32_t tallied) {
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  const auto end = c.span_last < p.routing.tokens ? c.span_last : p.routing.tokens;
  // A few tokens are counted on the way, many apart from it, by those who can do so faster.
  if (c.span_first - tallied > block.num_threads() / 8) {
    block.mark_owners(tallied, c.span_first, p.routing, s.ranks,
                      [&](std::uint32_t rank, std::uint32_t, std::uint32_t bits) {
                        if (bits != 0)
                          block.scratch_add(s.base + rank, static_cast<std::uint32_t>(std::popcount(bits)));
                      });
    tallied = c.span_first;
  }
  block.visit_owners(tallied, end, p.routing, 0, [&](std::uint32_t token, std::uint32_t slot, std::int32_t rank) {
    if (token < c.span_first) return block.scratch_add(s.base + rank, 1);
    const auto bit = token - c.span_first;
    block.scratch_or(s.bits + static_cast<std::uint32_t>(rank) * s.words + bit / 32, 1U << (bit % 32));
    if (token < c.first || token >= c.last) return;
    s.owners[(token - c.first) * slots + slot] = static_cast<std::uint32_t>(rank) + 1;
  });
}

/// Rows for `rank` of the span's tokens before `token`.
SWITCHYARD_DEVICE inline std::uint32_t rows_before(const dispatch_scratch& s, const chunk_frame& c, std::uint32_t rank,
                                                   std::uint32_t token) {
  const auto* words = s.bits + rank * s.words + c.first_word;
  const auto tokens = token - c.span_first;
  std::uint32_t count = 0;
  SWITCHYARD_ROLLED
  for (std::uint32_t w = 0; w < tokens / 32; ++w) count += static_cast<std::uint32_t>(std::popcount(words[w]));
  if (tokens % 32 == 0) return count;
  return count + static_cast<std::uint32_t>(std::popcount(words[tokens / 32] & ((1U << (tokens % 32)) - 1)));
}

/// Where a token of the span goes at one of its ranks.
SWITCHYARD_DEVICE inline layout::route route_to(const dispatch_scratch& s, const chunk_frame& c, std::uint32_t token,
                                                std::int32_t rank) {
  if (rank < 0) return {-1, 0};
  const auto r = static_cast<std::uint32_t>(rank);
  return {rank, s.base[r] + rows_before(s, c, r, token)};
}
/// Number `index` of the ranks that a token of the chunk goes to, -1 when there are no more.
SWITCHYARD_DEVICE inline std::int32_t listed_rank(const dispatch_scratch& s, const chunk_frame& c, std::uint32_t token,
                                                  std::uint32_t index, std::uint32_t slots) {
  return static_cast<std::int32_t>(s.owners[(token - c.first) * slots + index]) - 1;
}

/// Posts the part of the header that this chunk knows: its bitmap words, for the first chunk the fixed words, for the
/// last one how many rows there are in all.
template <block Block>
SWITCHYARD_DEVICE void post_header_part(Block& block, const dispatch_params& p, const phase_frame& frame,
                                        const dispatch_scratch& s, const chunk_frame& c) {
  const auto& ws = p.ws;
  const auto slot_at = [&](std::uint32_t rank) {
    return ws.header(static_cast<std::int32_t>(rank), phase::dispatch, frame.parity, ws.rank);
  };
  if (c.first == 0) {
    SWITCHYARD_ROLLED
    for (std::uint32_t i = block.thread_index(); i < s.ranks * fixed_header_words; i += block.num_threads()) {
      const auto index = i % static_cast<std::uint32_t>(fixed_header_words);
      const auto rank = static_cast<std::int32_t>(i / fixed_header_words);
      if (is_posted_apart(index) || !active_of(block, p.routing).contains(rank)) continue;
      post_fixed_word(block, ws, frame, p.words, rank, index);
    }
  }
  if (c.last == p.tokens_per_rank) {
    SWITCHYARD_ROLLED
    for (std::uint32_t rank = block.thread_index(); rank < s.ranks; rank += block.num_threads()) {
      if (!active_of(block, p.routing).contains(static_cast<std::int32_t>(rank))) continue;
      block.post(slot_at(rank) + static_cast<std::uint64_t>(header_word::row_count),
                 layout::tagged(s.base[rank] + rows_before(s, c, rank, c.last), frame.epoch));
    }
  }
  // A word of 32 tokens belongs to the chunk that holds its first token; small chunks share words.
  if (c.first != c.span_first) return;
  const auto words = static_cast<std::uint32_t>(c.span_last - c.span_first) / 32;
  auto* kept = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::sent_bitmaps));
  SWITCHYARD_ROLLED
  for (std::uint32_t i = block.thread_index(); i < s.ranks * words; i += block.num_threads()) {
    const auto rank = i / words;
    const auto word = c.span_first / 32 + i % words;
    const auto bits = s.bits[rank * s.words + c.first_word + i % words];
    kept[rank * ws.layout.dims.bitmap_words() + word] = bits;
    if (!active_of(block, p.routing).contains(static_cast<std::int32_t>(rank))) continue;
    block.post(slot_at(rank) + bitmap_word + word, layout::tagged(bits, frame.epoch));
  }
}

/// Copies every token of the chunk to each of its ranks.
template <block Block>
SWITCHYARD_DEVICE void send_rows(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                 const chunk_frame& c) {
  if (c.first >= c.end) return;
  const auto& ws = p.ws;
  const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
  const auto first_row = wide_product(static_cast<std::uint32_t>(ws.rank), p.tokens_per_rank);
  block.for_each_row(c.end - c.first, [&](std::uint64_t i) {
    const auto token = c.first + static_cast<std::uint32_t>(i);
    std::uint32_t targets = 0;
    SWITCHYARD_ROLLED
    while (targets < slots && listed_rank(s, c, token, targets, slots) >= 0) ++targets;
    block.put_rows(p.payloads, token, targets, [&](std::uint32_t target) {
      const auto route = route_to(s, c, token, listed_rank(s, c, token, target, slots));
      return row_target{ws.base_of(route.rank), first_row + route.row};
    });
  });
}

/// Keeps the routes of the chunk for combine, and tells each rank where its output for each row is to go.
template <block Block>
SWITCHYARD_DEVICE void keep_routes(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                   const chunk_frame& c) {
  if (c.first >= c.end) return;
  const auto& ws = p.ws;
  const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
  auto* kept = ws.local<layout::route>(ws.layout.offset_of(layout::region::routes));
  const auto keep = [&](std::uint32_t token, std::uint32_t slot, std::int32_t rank) {
    const auto place = wide_product(token, slots) + slot;
    const auto route = route_to(s, c, token, rank);
    kept[place] = route;
    if (rank >= 0) block.put_u32(ws.return_rows(rank, ws.rank) + route.row, static_cast<std::uint32_t>(place));
  };
  if (p.routes_all) return block.visit_owners(c.first, c.end, p.routing, slots, keep);
  auto token = c.first;
  auto slot = block.thread_index();
  SWITCHYARD_ROLLED
  for (auto i = slot; i < (c.end - c.first) * slots; i += block.num_threads(), slot += block.num_threads()) {
    SWITCHYARD_ROLLED
    for (; slot >= slots; slot -= slots) ++token;
    keep(token, slot, listed_rank(s, c, token, slot, slots));
  }
}

template <block Block>
SWITCHYARD_DEVICE bool send_chunk(Block& block, const dispatch_params& p, const phase_frame& frame,
                                  const dispatch_scratch& s, std::uint32_t chunk, std::uint32_t& tallied) {
  const auto c = chunk_of(p, chunk);
  if (!active_of(block, p.routing).are_all()) count_dropped<Block>(block, p.ws, p.routing, c.first, c.end);
  if (p.routes_all) {
    look_up_routes(block, p, s, c);
  } else {
    route_tokens(block, p, s, c, tallied);
  }
  block.sync();
  tallied = c.span_first;
  block.side_by_side([&] { send_rows(block, p, s, c); },
                     [&] {
                       post_header_part(block, p, frame, s, c);
                       keep_routes(block, p, s, c);
                     });
  // Releases the rows of all chunks, those of other blocks too, to receive_part of each peer.
  block.publish_when_last(
      &p.ws.round().chunks_sent, p.chunks(), s.ranks,
      [&](std::uint64_t peer) {
        const auto rank = static_cast<std::int32_t>(peer);
        // Once more to itself where there is nobody to tell.
        return p.ws.dispatch_flag(active_of(block, p.routing).contains(rank) ? rank : p.ws.rank, p.ws.rank);
      },
      layout::tagged(1, frame.epoch));
  return true;
}

/// The fault of a header that contradicts itself.
template <block Block>
SWITCHYARD_DEVICE_APART void raise_bad_count(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                             std::int32_t source, std::uint32_t rows, std::uint32_t told) {
  fault_record fault;
  fault.code = fault_code::bad_header;
  fault.field = step_field::row_count;
  fault.rank = source;
  fault.expected = rows;
  fault.actual = told;
  raise(block, ws, frame, fault);
}

/// Waits for the rows from one source and completes this rank's views of a part of them. The first part also tells the
/// count, the last one marks what holds no token.
template <block Block>
SWITCHYARD_DEVICE bool receive_part(Block& block, const dispatch_params& p, const phase_frame& frame,
                                    const dispatch_scratch& s, std::int32_t source, std::uint64_t part) {
  const auto& ws = p.ws;
  const auto parts = std::uint64_t{1} << p.receive_shift;
  const auto first_token = p.tokens_per_rank * part >> p.receive_shift;
  const auto last_token = p.tokens_per_rank * (part + 1) >> p.receive_shift;
  const auto take_word = [&](std::uint64_t word, std::uint32_t bits) {
    const auto add = [&](std::uint32_t* count, std::uint64_t end) {
      block.scratch_add(count, static_cast<std::uint32_t>(std::popcount(bits & bits_within(word, 0, end))));
    };
    add(&s.tally->found, p.tokens_per_rank);
    if (p.receive_shift == 0) return;
    add(&s.tally->before_part, first_token);
    add(&s.tally->to_part_end, last_token);
  };
  // From a rank that is masked off there is nothing to wait for, and its tally stays empty.
  if (active_of(block, p.routing).contains(source) &&
      !await_header(block, ws, frame, p.tokens_per_rank, source, *s.tally, take_word, part == 0)) {
    return false;
  }
  const auto rows = s.tally->found;
  if (rows != s.tally->told_rows) {
    raise_bad_count<Block>(block, ws, frame, source, rows, s.tally->told_rows);
    return false;
  }

  const auto ids_per_row = std::uint64_t{p.routing.top_k};
  const auto source_row = static_cast<std::uint64_t>(source) * p.tokens_per_rank;
  auto* ids = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids));
  // Padding first: it needs no rows.
  if (part + 1 == parts) {
    block.fill_i32(ids + (source_row + rows) * ids_per_row, p.invalid_expert_id,
                   (p.tokens_per_rank - rows) * ids_per_row);
  }
  if (part == 0) {
    auto* counts = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::recv_counts));
    block.fill_i32(counts + source, static_cast<std::int32_t>(rows), 1);
  }

  // Acquires the rows: pairs with publish_when_last in send_chunk at the source.
  const auto* flag = ws.dispatch_flag(ws.rank, source);
  const auto came = block.wait_all(
      rows == 0 ? 0 : 1, [&](std::uint64_t) { return layout::tag_of(block.poll_flag(flag)) == frame.epoch; },
      bounds_for(frame, awaited::rows), [] { return false; });
  if (!settle(block, ws, frame, came, awaited::rows, source)) return false;
  const auto first_row = s.tally->before_part;
  const auto part_end = p.receive_shift == 0 ? rows : s.tally->to_part_end;
  const auto at = (source_row + first_row) * ids_per_row;
  const auto* inbox = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids_inbox));
  block.copy_local(reinterpret_cast<std::byte*>(ids + at), reinterpret_cast<const std::byte*>(inbox + at),
                   (part_end - first_row) * ids_per_row * sizeof(std::int32_t));
  return true;
}

/// What a failed dispatch leaves: no ids, no counts, no statistics, so that experts queued behind it find no work.
template <block Block>
SWITCHYARD_DEVICE_APART void clear_views(handed_over<Block> block, const dispatch_params& p) {
  const auto& ws = p.ws;
  const auto rows = static_cast<std::uint64_t>(ws.ep_size) * p.tokens_per_rank;
  block.fill_i32(ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids)), p.invalid_expert_id,
                 rows * std::uint64_t{p.routing.top_k});
  block.fill_i32(ws.local<std::int32_t>(ws.layout.offset_of(layout::region::recv_counts)), 0,
                 static_cast<std::uint64_t>(ws.ep_size));
  if (gathers(block, p)) clear_statistics(block, p);
  if (block.thread_index() == 0) block.store_u32(&ws.rank_mask().dropped_routes, 0);
}

template <block Block>
SWITCHYARD_DEVICE void fence_dispatch(Block& block, const dispatch_params& p) {
  const auto s = dispatch_scratch::of(block, p);
  const auto frame = enter(block, p.ws, phase::dispatch, p.words, p.words_digest, [&] {
    if (p.routes_all) s.route_all(block, p);
    s.prepare(block, true, p.routes_all);
  });
  bool succeeded = frame.open && latch_mask(block, p.ws, frame, frame.first_role == 0);
  if (succeeded) {
    const std::uint64_t chunks = p.chunks();
    const auto part_mask = (std::uint64_t{1} << p.receive_shift) - 1;
    std::uint32_t tallied = 0;
    // By the block of the first send role, which is there whatever else is; received by all, once nothing else is left.
    if (gathers(block, p) && frame.first_role == 0) send_statistics<Block>(block, p, frame.epoch);
    succeeded = run_roles(
        block, p.ws, frame, chunks + (std::uint64_t{s.ranks} << p.receive_shift), chunks,
        [&] { s.prepare(block, false, p.routes_all); },
        [&](std::uint64_t role) {
          if (role < chunks) return send_chunk(block, p, frame, s, static_cast<std::uint32_t>(role), tallied);
          const auto receive = role - chunks;
          return receive_part(block, p, frame, s, static_cast<std::int32_t>(receive >> p.receive_shift),
                              receive & part_mask);
        });
    if (gathers(block, p) && succeeded) succeeded = receive_behind_roles<Block>(block, p);
  }
  leave(block, p.ws, frame, succeeded, [&] { clear_views<Block>(block, p); });
}

}  // namespace switchyard::protocol
