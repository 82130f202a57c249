// SPDX-License-Identifier: Apache-2.0
// Dispatch over the fence transport: rows, then one released flag for each chunk of rows.
//
// Roles, in ticket order: one send role per chunk of this rank's T tokens, then one receive role per source.
// Why buffers may be overwritten (invariant 3): this rank's stream has ended the previous step's combine, which waited
// for every peer's combine header; a peer posts that header after its experts have read its receive buffers. So every
// peer is past reading what this dispatch overwrites, but for the header slots: a peer may still be in the previous
// combine, reading the bitmaps of that step. Those lie in the slots of the other parity.
#pragma once

#include <cstdint>

#include "protocol/phase.hpp"
#include "protocol/routing.hpp"

namespace switchyard::protocol {

/// A send role's part of the tokens, and its tables in the block's scratch.
struct chunk_frame {
  std::uint64_t first = 0;  ///< tokens [first, last) are sent by this role; last <= T
  std::uint64_t last = 0;
  std::uint64_t span_first = 0;  ///< the same, widened to whole bitmap words
  std::uint64_t span_words = 0;
  std::uint32_t* bits = nullptr;    ///< [ep_size, span_words] tokens routed to each rank
  std::uint32_t* base = nullptr;    ///< [ep_size] packed row of the chunk's first token at each rank
  std::uint32_t* counts = nullptr;  ///< [ep_size] rows of the chunk for each rank
  layout::route* routes = nullptr;  ///< [tokens of the chunk, slots]

  [[nodiscard]] SWITCHYARD_DEVICE std::uint32_t rows_before(std::int32_t rank, std::uint64_t token) const {
    const auto* words = bits + static_cast<std::uint64_t>(rank) * span_words;
    return count_bits([words](std::uint64_t w) { return words[w]; }, first - span_first, token - span_first);
  }
};

/// Routes the chunk's tokens: fills bits and counts, and tells the later chunks how many rows come before theirs.
template <block Block>
SWITCHYARD_DEVICE chunk_frame route_chunk(Block& block, const dispatch_params& p, const phase_frame& frame,
                                          std::uint64_t chunk) {
  const auto ranks = static_cast<std::uint64_t>(p.ws.ep_size);
  chunk_frame c;
  c.first = chunk * p.chunk_tokens;
  c.last = c.first + p.chunk_tokens < p.tokens_per_rank ? c.first + p.chunk_tokens : p.tokens_per_rank;
  c.span_first = c.first / 32 * 32;
  c.span_words = (c.last - c.span_first + 31) / 32;
  c.bits = block.scratch(scratch_words(p));
  c.base = c.bits + ranks * c.span_words;
  c.counts = c.base + ranks;
  c.routes = reinterpret_cast<layout::route*>(c.counts + ranks);
  // Bits and bases.
  for (std::uint64_t i = block.thread_index(); i < ranks * (c.span_words + 1); i += block.num_threads()) c.bits[i] = 0;
  block.sync();

  const auto slots = p.ws.layout.dims.slots();
  const auto span_last = c.span_first + c.span_words * 32;
  const auto last_token = span_last < p.num_tokens ? span_last : p.num_tokens;
  for (auto token = c.span_first + block.thread_index(); token < last_token; token += block.num_threads()) {
    const auto bit = token - c.span_first;
    auto* route = token >= c.first && token < c.last ? c.routes + (token - c.first) * slots : nullptr;
    std::uint64_t slot = 0;
    p.experts.for_each_owner(p.topk_ids + token * static_cast<std::uint64_t>(p.top_k), p.top_k, [&](std::int32_t rank) {
      block.scratch_or(c.bits + static_cast<std::uint64_t>(rank) * c.span_words + bit / 32, 1U << (bit % 32));
      if (route != nullptr) route[slot] = {rank, 0};
      ++slot;
    });
    for (; slot < slots && route != nullptr; ++slot) route[slot] = {-1, 0};
  }
  block.sync();

  auto* published = p.ws.local<std::uint64_t>(p.ws.layout.offset_of(layout::region::chunk_counts));
  for (std::uint64_t rank = block.thread_index(); rank < ranks; rank += block.num_threads()) {
    c.counts[rank] = c.rows_before(static_cast<std::int32_t>(rank), c.last);
    // Valid by itself, for the look-back of later chunks: the tag tells it from the last phase's count.
    block.store_u64(published + chunk * ranks + rank, layout::tagged(c.counts[rank], frame.epoch));
  }
  return c;
}

/// Posts the part of the header that this chunk knows: its bitmap words, and for the first chunk the fixed words.
template <block Block>
SWITCHYARD_DEVICE void post_header_part(Block& block, const dispatch_params& p, const phase_frame& frame,
                                        const chunk_frame& c) {
  const auto& ws = p.ws;
  const auto ranks = static_cast<std::uint64_t>(ws.ep_size);
  if (c.first == 0) {
    for (std::uint64_t i = block.thread_index(); i < ranks * fixed_header_words; i += block.num_threads()) {
      const auto index = i % fixed_header_words;
      if (index == static_cast<std::uint64_t>(header_word::row_count)) continue;
      post_fixed_word(block, ws, frame, static_cast<std::int32_t>(i / fixed_header_words), index);
    }
  }
  // A word of 32 tokens belongs to the chunk that holds its first token; small chunks share words.
  const auto word_first = (c.first + 31) / 32;
  const auto word_last = (c.last + 31) / 32;
  if (word_first >= word_last) return;
  const auto words = word_last - word_first;
  auto* kept = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::sent_bitmaps));
  for (std::uint64_t i = block.thread_index(); i < ranks * words; i += block.num_threads()) {
    const auto rank = i / words;
    const auto word = word_first + i % words;
    const auto bits = c.bits[rank * c.span_words + word - c.span_first / 32];
    kept[rank * ws.layout.dims.bitmap_words() + word] = bits;
    auto* slot = ws.header(static_cast<std::int32_t>(rank), phase::dispatch, frame.parity, ws.rank);
    block.post(slot + bitmap_word + word, layout::tagged(bits, frame.epoch));
  }
}

/// Sums the counts of earlier chunks: where this chunk's rows begin at each rank. The last chunk then knows, and posts,
/// how many rows there are in all.
template <block Block>
SWITCHYARD_DEVICE bool look_back(Block& block, const dispatch_params& p, const phase_frame& frame, const chunk_frame& c,
                                 std::uint64_t chunk) {
  const auto ranks = static_cast<std::uint64_t>(p.ws.ep_size);
  const auto* published = p.ws.local<std::uint64_t>(p.ws.layout.offset_of(layout::region::chunk_counts));
  // Lower tickets only: their blocks have begun, and publish their counts before they wait for anything.
  const bool came = await(block, p.ws, frame, awaited::own_counts, p.ws.rank, chunk * ranks,
                          [&](std::uint64_t i) { return layout::tag_of(block.poll(published + i)) == frame.epoch; });
  if (!came) return false;
  for (std::uint64_t i = block.thread_index(); i < chunk * ranks; i += block.num_threads()) {
    block.scratch_add(c.base + i % ranks, layout::data_of(block.poll(published + i)));
  }
  block.sync();
  for (std::uint64_t rank = block.thread_index(); rank < ranks && c.last == p.tokens_per_rank;
       rank += block.num_threads()) {
    auto* slot = p.ws.header(static_cast<std::int32_t>(rank), phase::dispatch, frame.parity, p.ws.rank);
    block.post(slot + static_cast<std::uint64_t>(header_word::row_count),
               layout::tagged(c.base[rank] + c.counts[rank], frame.epoch));
  }
  return true;
}

/// Gives every route of the chunk its packed row, and keeps it for combine.
template <block Block>
SWITCHYARD_DEVICE void place_rows(Block& block, const dispatch_params& p, const chunk_frame& c) {
  const auto slots = p.ws.layout.dims.slots();
  auto* kept = p.ws.local<layout::route>(p.ws.layout.offset_of(layout::region::routes)) + c.first * slots;
  const auto last_token = c.last < p.num_tokens ? c.last : p.num_tokens;
  const auto routes = last_token > c.first ? (last_token - c.first) * slots : 0;
  for (std::uint64_t i = block.thread_index(); i < routes; i += block.num_threads()) {
    auto route = c.routes[i];
    if (route.rank >= 0) route.row = c.base[route.rank] + c.rows_before(route.rank, c.first + i / slots);
    c.routes[i] = route;
    kept[i] = route;
  }
  block.sync();
}

/// Copies every token of the chunk to each of its ranks.
template <block Block>
SWITCHYARD_DEVICE void send_rows(Block& block, const dispatch_params& p, const chunk_frame& c) {
  const auto& ws = p.ws;
  const auto slots = ws.layout.dims.slots();
  const auto last_token = c.last < p.num_tokens ? c.last : p.num_tokens;
  if (c.first >= last_token) return;
  const auto first_row = static_cast<std::uint64_t>(ws.rank) * p.tokens_per_rank;
  block.for_each_row(last_token - c.first, [&](std::uint64_t i) {
    const auto token = c.first + i;
    const auto* routes = c.routes + i * slots;
    // Two ranks at a time: what is loaded once is stored twice.
    for (std::uint64_t slot = 0; slot < slots && routes[slot].rank >= 0; slot += 2) {
      const auto one = routes[slot];
      const auto other = slot + 1 < slots ? routes[slot + 1] : layout::route{-1, 0};
      auto* base = ws.peers[one.rank];
      auto* other_base = other.rank >= 0 ? ws.peers[other.rank] : nullptr;
      block.put_rows(p.num_payloads, [&](std::uint32_t k) {
        const auto& payload = p.payloads[k];
        const auto region = ws.layout.offset_of(payload.destination);
        row_put row;
        row.in = payload.data + token * payload.row_bytes;
        row.out = base + region + (first_row + one.row) * payload.row_bytes;
        if (other_base != nullptr) row.other_out = other_base + region + (first_row + other.row) * payload.row_bytes;
        row.bytes = payload.row_bytes;
        return row;
      });
    }
  });
}

template <block Block>
SWITCHYARD_DEVICE bool send_chunk(Block& block, const dispatch_params& p, const phase_frame& frame,
                                  std::uint64_t chunk) {
  const auto c = route_chunk(block, p, frame, chunk);
  post_header_part(block, p, frame, c);
  if (!look_back(block, p, frame, c, chunk)) return false;
  place_rows(block, p, c);
  send_rows(block, p, c);
  // Releases the chunk's rows to wait_all in receive_source of each peer that has some.
  block.publish(
      static_cast<std::uint64_t>(p.ws.ep_size),
      [&](std::uint64_t peer) {
        return c.counts[peer] == 0 ? nullptr
                                   : p.ws.flag(static_cast<std::int32_t>(peer), phase::dispatch, p.ws.rank, chunk);
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

/// Waits for everything from one source and completes this rank's views of it.
template <block Block>
SWITCHYARD_DEVICE bool receive_source(Block& block, const dispatch_params& p, const phase_frame& frame,
                                      std::int32_t source) {
  const auto& ws = p.ws;
  if (!await_header(block, ws, frame, p.tokens_per_rank, source)) return false;
  const auto* header = ws.header(ws.rank, phase::dispatch, frame.parity, source);
  const auto bits_at = [&](std::uint64_t word) { return layout::data_of(block.poll(header + bitmap_word + word)); };
  const auto rows = count_bits_together(block, bits_at, p.tokens_per_rank);
  const auto told = layout::data_of(block.poll(header + static_cast<std::uint64_t>(header_word::row_count)));
  if (rows != told) {
    raise_bad_count<Block>(block, ws, frame, source, rows, told);
    return false;
  }

  // Padding first: it needs no rows.
  const auto ids_per_row = static_cast<std::uint64_t>(p.top_k);
  auto* ids = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids));
  const auto first_padding = static_cast<std::uint64_t>(source) * p.tokens_per_rank + rows;
  block.fill_i32(ids + first_padding * ids_per_row, p.invalid_expert_id, (p.tokens_per_rank - rows) * ids_per_row);
  auto* counts = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::recv_counts));
  block.fill_i32(counts + source, static_cast<std::int32_t>(rows), 1);

  // Acquires the rows: pairs with publish in send_chunk at the source. A chunk without rows for us raises no flag.
  const auto chunks = (p.tokens_per_rank + p.chunk_tokens - 1) / p.chunk_tokens;
  const bool came = await(block, ws, frame, awaited::rows, source, chunks, [&](std::uint64_t chunk) {
    const auto first = chunk * p.chunk_tokens;
    const auto last = first + p.chunk_tokens < p.tokens_per_rank ? first + p.chunk_tokens : p.tokens_per_rank;
    if (count_bits(bits_at, first, last) == 0) return true;
    return layout::tag_of(block.poll(ws.flag(ws.rank, phase::dispatch, source, chunk))) == frame.epoch;
  });
  if (!came) return false;
  const auto first_row = static_cast<std::uint64_t>(source) * p.tokens_per_rank * ids_per_row;
  const auto* inbox = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids_inbox));
  block.copy_local(reinterpret_cast<std::byte*>(ids + first_row), reinterpret_cast<const std::byte*>(inbox + first_row),
                   rows * ids_per_row * sizeof(std::int32_t));
  return true;
}

/// What a failed dispatch leaves: no ids, no counts, so that experts queued behind it find no work.
template <block Block>
SWITCHYARD_DEVICE_APART void clear_views(handed_over<Block> block, const dispatch_params& p) {
  const auto& ws = p.ws;
  const auto rows = static_cast<std::uint64_t>(ws.ep_size) * p.tokens_per_rank;
  block.fill_i32(ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids)), p.invalid_expert_id,
                 rows * static_cast<std::uint64_t>(p.top_k));
  block.fill_i32(ws.local<std::int32_t>(ws.layout.offset_of(layout::region::recv_counts)), 0,
                 static_cast<std::uint64_t>(ws.ep_size));
}

template <block Block>
SWITCHYARD_DEVICE void fence_dispatch(Block& block, const dispatch_params& p) {
  const auto frame = enter(block, p.ws, phase::dispatch, p.words, p.words_digest);
  if (frame.open) {
    const auto chunks = (p.tokens_per_rank + p.chunk_tokens - 1) / p.chunk_tokens;
    run_roles(block, p.ws, chunks + static_cast<std::uint64_t>(p.ws.ep_size), [&](std::uint64_t role) {
      if (role < chunks) return send_chunk(block, p, frame, role);
      return receive_source(block, p, frame, static_cast<std::int32_t>(role - chunks));
    });
  }
  leave(block, p.ws, frame, [&] { clear_views<Block>(block, p); });
}

}  // namespace switchyard::protocol
