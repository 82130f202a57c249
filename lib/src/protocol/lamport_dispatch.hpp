// SPDX-License-Identifier: Apache-2.0
// Dispatch over the Lamport transport: every word of a row says by itself that it has come, so that there are no flags
// and nobody releases a row. A source stores its tokens into inboxes of their receivers; these move them to positional
// rows of the views, and re-arm each word right after they took it.
//
// Roles, in ticket order: credits granted; sends of a few tokens each; receives of a few tokens of each source; credits
// collected. All sends come before any wait, so one block alone gets through.
// Why words may be overwritten (invariant 3): docs/decisions/009-lamport-rearming.md. This dispatch stores to words
// that their owner took, and re-armed, in an earlier dispatch; the owner's combine of that step granted a credit after
// that, which this rank's combine of that step has acquired.
#pragma once

#include <cstdint>

#include "protocol/fence_dispatch.hpp"
#include "protocol/lamport_phase.hpp"

namespace switchyard::protocol {

/// The list of exceptions of one of a send role's tokens, behind the tables that dispatch_scratch knows.
SWITCHYARD_DEVICE inline exception_list exceptions_of(const dispatch_params& p, const dispatch_scratch& s,
                                                      std::uint32_t index) {
  const auto units = p.payloads.units_of_row();
  const auto stride = static_cast<std::uint32_t>(exception_list::scratch_words(units));
  return {s.owners + s.places + index * stride, units};
}

/// To receive: the bitmap of a source, behind the lists.
SWITCHYARD_DEVICE inline std::uint32_t* bitmap_of(const dispatch_params& p, const dispatch_scratch& s) {
  return exceptions_of(p, s, static_cast<std::uint32_t>(p.chunk_tokens())).words;
}

/// The inbox row of a token of this rank at another.
SWITCHYARD_DEVICE inline std::uint64_t* inbox_row(const workspace_handle& ws, std::int32_t receiver,
                                                  std::int32_t source, std::uint32_t token) {
  return ws.at<std::uint64_t>(receiver, ws.layout.lamport_row_offset(static_cast<std::uint64_t>(source), token));
}

/// Where copy number `slot` of the role's token `index` goes: a row of a peer's inbox, or null for none, or for this
/// rank itself, whose receive role copies it.
SWITCHYARD_DEVICE inline std::uint64_t* target_of(const dispatch_params& p, const dispatch_scratch& s,
                                                  const chunk_frame& c, std::uint32_t index, std::uint32_t slot) {
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  const auto owner = s.owners[index * slots + slot];
  if (owner == 0 || static_cast<std::int32_t>(owner) - 1 == p.ws.rank) return nullptr;
  return inbox_row(p.ws, static_cast<std::int32_t>(owner) - 1, p.ws.rank, c.first + index);
}

/// Stores the units of every token of the role at each of its ranks.
template <block Block>
SWITCHYARD_DEVICE void send_token_words(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                        const chunk_frame& c) {
  if (c.first >= c.end) return;
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  block.for_each_row(c.end - c.first, [&](std::uint64_t i) {
    const auto index = static_cast<std::uint32_t>(i);
    std::uint32_t targets = 0;
    SWITCHYARD_ROLLED
    while (targets < slots && s.owners[index * slots + targets] != 0) ++targets;
    block.send_words(
        p.payloads, c.first + index, targets, [&](std::uint32_t slot) { return target_of(p, s, c, index, slot); },
        [&](std::uint32_t unit, std::uint32_t bits) { exceptions_of(p, s, index).add(block, unit, bits); });
  });
}

/// Keeps the routes of the role's tokens for combine: rows are positional.
template <block Block>
SWITCHYARD_DEVICE void keep_positional_routes(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                              const chunk_frame& c) {
  if (c.first >= c.end) return;
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  auto* kept = p.ws.local<layout::route>(p.ws.layout.offset_of(layout::region::routes)) + wide_product(c.first, slots);
  auto token = c.first;
  auto slot = block.thread_index();
  SWITCHYARD_ROLLED
  for (auto i = slot; i < (c.end - c.first) * slots; i += block.num_threads(), slot += block.num_threads()) {
    SWITCHYARD_ROLLED
    for (; slot >= slots; slot -= slots) ++token;
    kept[i] = {static_cast<std::int32_t>(s.owners[i]) - 1, token};
  }
}

/// Only when all threads have seen their words is it known whether there were exceptions.
template <block Block>
SWITCHYARD_DEVICE void complete_token_rows(Block& block, const dispatch_params& p, const dispatch_scratch& s,
                                           const chunk_frame& c) {
  if (c.first >= c.end) return;
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  std::uint32_t index = 0;
  auto slot = block.thread_index();
  SWITCHYARD_ROLLED
  for (auto i = slot; i < (c.end - c.first) * slots; i += block.num_threads(), slot += block.num_threads()) {
    SWITCHYARD_ROLLED
    for (; slot >= slots; slot -= slots) ++index;
    if (auto* row = target_of(p, s, c, index, slot)) complete_row(block, row, exceptions_of(p, s, index), slot);
  }
}

template <block Block>
SWITCHYARD_DEVICE bool send_tokens(Block& block, const dispatch_params& p, const phase_frame& frame,
                                   const dispatch_scratch& s, std::uint32_t chunk, std::uint32_t& tallied) {
  const auto c = chunk_of(p, chunk);
  route_tokens(block, p, s, c, tallied);
  block.sync();
  tallied = c.span_first;
  block.side_by_side([&] { send_token_words(block, p, s, c); },
                     [&] {
                       post_header_part(block, p, frame, s, c);
                       keep_positional_routes(block, p, s, c);
                     });
  block.sync();
  complete_token_rows(block, p, s, c);
  return true;
}

/// This rank's own tokens: no peer need send them.
template <block Block>
SWITCHYARD_DEVICE void copy_own_token(Block& block, const dispatch_params& p, std::uint32_t token, std::uint64_t row) {
  const row_target to{p.ws.self, row};
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < p.payloads.count; ++i) {
    const auto& payload = p.payloads.items[i];
    block.copy_local(to.in_region_of(payload), payload.data + wide_product(token, payload.row_bytes),
                     payload.row_bytes);
  }
}

/// Waits for a few tokens of one source and completes this rank's views of them. The part of the first tokens also
/// tells the count.
template <block Block>
SWITCHYARD_DEVICE bool receive_tokens(Block& block, const dispatch_params& p, const phase_frame& frame,
                                      const dispatch_scratch& s, std::int32_t source, std::uint32_t first) {
  const auto& ws = p.ws;
  auto* bitmap = bitmap_of(p, s);
  const auto take_word = [&](std::uint64_t word, std::uint32_t bits) {
    bitmap[word] = bits;
    block.scratch_add(&s.tally->found,
                      static_cast<std::uint32_t>(std::popcount(bits & bits_within(word, 0, p.tokens_per_rank))));
  };
  if (!await_header(block, ws, frame, p.tokens_per_rank, source, *s.tally, take_word, first == 0)) return false;
  const auto rows = s.tally->found;
  if (rows != s.tally->told_rows) {
    raise_bad_count<Block>(block, ws, frame, source, rows, s.tally->told_rows);
    return false;
  }
  const auto source_row = wide_product(static_cast<std::uint32_t>(source), p.tokens_per_rank);
  const auto tokens = std::uint32_t{1} << p.receive_shift;
  const auto rest = static_cast<std::uint32_t>(p.tokens_per_rank) - first;
  const auto count = rest < tokens ? rest : tokens;
  const auto is_here = [&](std::uint32_t i) { return (bitmap[(first + i) / 32] >> (first + i) % 32 & 1U) != 0; };

  if (first == 0) {
    auto* counts = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::recv_counts));
    block.fill_i32(counts + source, static_cast<std::int32_t>(rows), 1);
  }
  auto* ids = ws.local<std::int32_t>(ws.layout.offset_of(layout::region::topk_ids));
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!is_here(i)) {
      block.fill_i32(ids + (source_row + first + i) * p.routing.top_k, p.invalid_expert_id, p.routing.top_k);
    } else if (source == ws.rank) {
      copy_own_token(block, p, first + i, source_row + first + i);
    }
  }
  if (source == ws.rank) return true;

  const auto row_at = [&](std::uint64_t i) {
    const auto token = first + static_cast<std::uint32_t>(i);
    if (!is_here(static_cast<std::uint32_t>(i))) return arriving_row{};
    return arriving_row{inbox_row(ws, ws.rank, source, token), {ws.self, source_row + token}};
  };
  const auto came = block.take_rows(count, row_at, p.payloads, bounds_for(frame, awaited::rows));
  if (!settle(block, ws, frame, came, awaited::rows, source)) return false;
  // All threads have taken their words, so nobody looks at a trailer any more.
  const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); i < count; i += block.num_threads()) {
    if (!is_here(i)) continue;
    const auto trailer = close_row(block, inbox_row(ws, ws.rank, source, first + i), p.payloads.units_of_row());
    block.store_u32(ws.return_rows(ws.rank, source) + first + i, (first + i) * slots + slot_of(trailer));
  }
  return true;
}

template <block Block>
SWITCHYARD_DEVICE void lamport_dispatch(Block& block, const dispatch_params& p) {
  const auto s = dispatch_scratch::of(block, p);
  const auto prepare = [&](bool first) {
    s.prepare(block, first, false);
    const auto words = p.chunk_tokens() * exception_list::scratch_words(p.payloads.units_of_row());
    auto* lists = s.owners + s.places;
    SWITCHYARD_ROLLED
    for (std::uint64_t i = block.thread_index(); i < words; i += block.num_threads()) lists[i] = 0;
  };
  const auto frame = enter(block, p.ws, phase::dispatch, p.words, p.words_digest, [&] { prepare(true); });
  bool succeeded = frame.open;
  if (frame.open) {
    const std::uint64_t first_receive = 1 + p.chunks();
    const auto parts = ((static_cast<std::uint32_t>(p.tokens_per_rank) - 1) >> p.receive_shift) + 1;
    const auto collect = first_receive + std::uint64_t{s.ranks} * parts;
    std::uint32_t tallied = 0;
    succeeded = run_roles(
        block, p.ws, frame, collect + 1, first_receive, [&] { prepare(false); },
        [&](std::uint64_t role) {
          if (role == 0) {
            grant_credits(block, p.ws, frame);
            return true;
          }
          if (role < first_receive) {
            return send_tokens(block, p, frame, s, static_cast<std::uint32_t>(role) - 1, tallied);
          }
          if (role == collect) return collect_credits(block, p.ws, frame);
          // The first tokens of every source before the second ones of any: it is in this order that they are sent.
          const auto receive = static_cast<std::uint32_t>(role - first_receive);
          return receive_tokens(block, p, frame, s, static_cast<std::int32_t>(receive % s.ranks),
                                receive / s.ranks << p.receive_shift);
        });
  }
  leave(block, p.ws, frame, succeeded, [&] { clear_views<Block>(block, p); });
}

}  // namespace switchyard::protocol
