// SPDX-License-Identifier: Apache-2.0
// Dispatch over the Lamport transport: every word of a row says by itself that it has come, so that there are no flags
// and nobody releases a row. A source stores its tokens into inboxes of their receivers, and tells every rank of each
// of its tokens whether it goes there; receivers move rows to positional rows of the views, and re-arm each word right
// after they took it.
//
// Why words may be overwritten (invariant 3): docs/decisions/009-lamport-rearming.md. This dispatch stores to words
// that their owner took, and re-armed, in an earlier dispatch; the owner's combine of that step granted a credit after
// that, which this rank has acquired at entry. A token's presence was read in the last Lamport dispatch by its
// receiver, whose header of the combine after it this rank has awaited since.
#pragma once

#include <cstdint>

#include "protocol/fence_dispatch.hpp"
#include "protocol/lamport_leave.hpp"
#include "protocol/lamport_rows.hpp"

namespace switchyard::protocol {

/// The inbox row of a token of `source` at `receiver`.
SWITCHYARD_DEVICE inline lamport_row inbox_row(const dispatch_params& p, std::int32_t receiver, std::int32_t source,
                                               std::uint32_t token) {
  const auto offset = p.ws.layout.lamport_row_offset(static_cast<std::uint64_t>(source), token);
  return {p.ws.at<std::uint64_t>(receiver, offset), p.payloads.units_of_row()};
}

/// Number `index` of the rows that a worker deals with: of all peers, the first token of each before the second of any,
/// each rank beginning with another peer.
struct peer_token {
  std::int32_t peer;
  std::uint32_t token;
};
SWITCHYARD_DEVICE inline peer_token peer_token_at(const workspace_handle& ws, std::uint32_t index) {
  const auto peers = static_cast<std::uint32_t>(ws.ep_size) - 1;
  const auto token = peers == 1 ? index : index / peers;
  const auto after = static_cast<std::uint32_t>(ws.rank) + 1 + (index - token * peers);
  const auto ranks = static_cast<std::uint32_t>(ws.ep_size);
  return {static_cast<std::int32_t>(after < ranks ? after : after - ranks), token};
}
SWITCHYARD_DEVICE inline std::uint32_t num_peer_tokens(const workspace_handle& ws, std::uint64_t tokens_per_rank) {
  return (static_cast<std::uint32_t>(ws.ep_size) - 1) * static_cast<std::uint32_t>(tokens_per_rank);
}

/// Of a token that goes nowhere else: this rank's own views.
inline constexpr std::uint64_t own_views = 1;

/// The leader's part of a token that is sent: looks up its ranks, tells the team where it goes (a row for each slot,
/// then 0), and what the other ranks and combine want to know of it.
template <block Block>
struct token_plan {
  typename Block::held_ids ids;

  SWITCHYARD_DEVICE void fetch(Block& block, const dispatch_params& p, std::uint32_t token) {
    ids = block.ids_of(p.routing, token < p.num_tokens ? token : p.routing.tokens);
  }
  SWITCHYARD_DEVICE void tell_team(Block& block, const dispatch_params& p, std::uint32_t token,
                                   std::uint64_t* plan) const {
    const auto count = block.visit_ranks(
        p.routing, ids, 0,
        [&](std::uint32_t slot, std::int32_t rank) {
          plan[slot] = rank == p.ws.rank ? own_views
                                         : reinterpret_cast<std::uint64_t>(inbox_row(p, rank, p.ws.rank, token).words);
        },
        [](std::int32_t) {});
    if (block.lane() == 0) plan[count] = 0;
  }
  SWITCHYARD_DEVICE void tell_others(Block& block, const dispatch_params& p, std::uint32_t epoch,
                                     std::uint32_t token) const {
    const auto& ws = p.ws;
    const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
    auto* routes = ws.local<layout::route>(ws.layout.offset_of(layout::region::routes)) + wide_product(token, slots);
    const auto count = block.visit_ranks(
        p.routing, ids, static_cast<std::uint32_t>(ws.ep_size),
        [&](std::uint32_t slot, std::int32_t rank) {
          routes[slot] = {rank, token};
          block.post(ws.presence(rank, ws.rank, token), layout::tagged(slot + 1, epoch));
        },
        [&](std::int32_t rank) {
          if (!active_of(block, p.routing).contains(rank)) return;
          block.post(ws.presence(rank, ws.rank, token), layout::tagged(0, epoch));
          if (rank != ws.rank) return;
          const auto row = wide_product(static_cast<std::uint32_t>(ws.rank), p.tokens_per_rank) + token;
          auto* view = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::topk_ids)) + row * p.routing.top_k;
          SWITCHYARD_ROLLED
          for (std::uint32_t k = 0; k < p.routing.top_k; ++k)
            block.store_u32(view + k, static_cast<std::uint32_t>(p.invalid_expert_id));
        });
    SWITCHYARD_ROLLED
    for (auto slot = count + block.lane(); slot < slots; slot += block.lanes()) routes[slot] = {-1, token};
  }
};

/// Threads that have units of a token to send. The leader tells others of it meanwhile, where it is not the whole team.
template <class Block>
SWITCHYARD_DEVICE std::uint32_t num_sending(Block& block) {
  return block.num_threads() > block.lanes() ? block.num_threads() - block.lanes() : block.num_threads();
}

/// Two units of a token, of a thread's.
template <class Block>
struct token_units {
  located_unit first;
  located_unit second;
  word_pair words[2];
  std::byte* own[2] = {};  ///< where they lie in this rank's views

  SWITCHYARD_DEVICE void load(Block& block, const dispatch_params& p, std::uint32_t token, std::uint32_t base) {
    const auto threads = num_sending(block);
    if (token >= p.num_tokens || block.thread_index() >= threads) return;
    first = locate(p.payloads, base + block.thread_index());
    second = locate(p.payloads, base + block.thread_index() + threads);
    if (first.bytes != 0) words[0] = block.load_unit(first, token);
    if (second.bytes != 0) words[1] = block.load_unit(second, token);
    const row_target to{p.ws.self, wide_product(static_cast<std::uint32_t>(p.ws.rank), p.tokens_per_rank) + token};
    own[0] = first.at(to);
    own[1] = second.at(to);
  }
  /// Stores them wherever the leader has told that the token goes.
  SWITCHYARD_DEVICE void send(Block& block, const dispatch_params& p, std::uint32_t base,
                              const std::uint64_t* plan) const {
    if (first.bytes == 0) return;
    bool here = false;
    SWITCHYARD_ROLLED
    for (; *plan != 0; ++plan) {
      if (*plan == own_views) {
        here = true;  // last, because nobody waits for it
        continue;
      }
      const lamport_row row{reinterpret_cast<std::uint64_t*>(*plan), p.payloads.units_of_row()};
      const auto unit = base + block.thread_index();
      send_unit(block, row, unit, words[0]);
      if (second.bytes != 0) send_unit(block, row, unit + num_sending(block), words[1]);
    }
    if (!here) return;
    block.store_unit(first, own[0], words[0]);
    if (second.bytes != 0) block.store_unit(second, own[1], words[1]);
  }
};

/// Sends the units of a token past the first two of each thread.
template <block Block>
SWITCHYARD_DEVICE_APART void send_rest_of_token(handed_over<Block> block, const dispatch_params& p, std::uint32_t token,
                                                const std::uint64_t* plan) {
  SWITCHYARD_ROLLED
  for (auto base = 2 * num_sending(block); base < p.payloads.units_of_row(); base += 2 * num_sending(block)) {
    token_units<std::remove_reference_t<Block>> units;
    units.load(block, p, token, base);
    units.send(block, p, base, plan);
  }
}
/// Sends a token of which the team has been told nothing yet. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void send_token(handed_over<Block> block, const dispatch_params& p, const phase_frame& frame,
                                        std::uint32_t token, std::uint64_t* plan) {
  token_plan<Block> leads;
  token_units<Block> units;
  if (block.leads()) leads.fetch(block, p, token);
  units.load(block, p, token, 0);
  block.sync();  // what the team was told last has been looked at
  if (block.leads()) leads.tell_team(block, p, token, plan);
  block.sync();
  if (block.leads()) leads.tell_others(block, p, frame.epoch, token);
  units.send(block, p, 0, plan);
  if (p.payloads.units_of_row() > 2 * num_sending(block)) send_rest_of_token<Block>(block, p, token, plan);
}

/// The clerk of a dispatch also sends the statistics, and counts what does not go anywhere. [team]
template <block Block>
SWITCHYARD_DEVICE void send_as_dispatch_clerk(Block& block, const dispatch_params& p, const phase_frame& frame,
                                              bool released) {
  send_as_clerk(block, p, frame, released);
  if (gathers(block, p)) send_statistics<Block>(block, p, frame.epoch);
  if (active_of(block, p.routing).are_all()) return;
  count_dropped<Block>(block, p.ws, p.routing, 0, static_cast<std::uint32_t>(p.num_tokens));
}

/// Sends what block `index` is to send: as the clerk the header and the credit, as a worker its tokens. [team]
template <block Block>
SWITCHYARD_DEVICE void send_part_of(Block& block, const dispatch_params& p, const phase_frame& frame,
                                    std::uint32_t index) {
  if (is_clerk(p.ws, index)) send_as_dispatch_clerk(block, p, frame, false);
  auto* plan = lamport_plan_of(block, scratch_words(p));
  SWITCHYARD_ROLLED
  for (auto token = index; is_worker(p.ws, index) && token < p.tokens_per_rank; token += num_workers(p.ws)) {
    send_token<Block>(block, p, frame, token, plan);
  }
}

/// The peer of the first row that not all threads of this worker have taken. [team]
template <block Block>
SWITCHYARD_DEVICE_APART std::int32_t first_late(handed_over<Block> block, const workspace_handle& ws,
                                                std::uint32_t index, std::uint32_t total) {
  auto late = block.block_index();
  SWITCHYARD_ROLLED
  while (late < total && block.team_sum(index <= late ? 1 : 0) == 0) late += num_workers(ws);
  const auto peer = late < total ? peer_token_at(ws, late).peer : -1;
  block.sync();
  return peer;
}

/// A thread on its way through the rows that its worker takes as they come, completing this rank's views of them.
template <class Block>
struct row_taker {
  std::uint32_t index;      ///< of the row; see peer_token_at
  std::uint32_t base = 0;   ///< units from here on are being taken
  std::uint32_t taken = 0;  ///< of this thread's two units from there

  /// False after so many fruitless polls; to be gone on with.
  SWITCHYARD_DEVICE bool advance(Block& block, const dispatch_params& p, std::uint32_t epoch, std::uint32_t polls) {
    const auto total = num_peer_tokens(p.ws, p.tokens_per_rank);
    SWITCHYARD_ROLLED
    for (; index < total; index += num_workers(p.ws)) {
      const auto of = peer_token_at(p.ws, index);
      SWITCHYARD_ROLLED
      while (!take(block, p, epoch, of)) {
        if (--polls == 0) return false;
      }
      base = 0;
      taken = 0;
    }
    return true;
  }

 private:
  /// Whether all of a row has come, or it is known that it does not.
  SWITCHYARD_DEVICE bool take(Block& block, const dispatch_params& p, std::uint32_t epoch, peer_token of) {
    const auto& ws = p.ws;
    const auto threads = block.num_threads();
    const auto row = inbox_row(p, ws.rank, of.peer, of.token);
    const row_target to{ws.self, wide_product(static_cast<std::uint32_t>(of.peer), p.tokens_per_rank) + of.token};
    SWITCHYARD_ROLLED
    for (;; base += 2 * threads, taken = 0) {
      // All under way before the first is looked at.
      const auto presence = active_of(block, p.routing).contains(of.peer)
                                ? block.poll(ws.presence(ws.rank, of.peer, of.token))
                                : layout::tagged(0, epoch);
      const auto unit = base + block.thread_index();
      word_pair first{};
      word_pair second{};
      if ((taken & 1U) == 0 && unit < row.units) first = block.load_words(row.at(unit));
      if ((taken & 2U) == 0 && unit + threads < row.units) second = block.load_words(row.at(unit + threads));
      if (layout::tag_of(presence) != epoch) return false;
      if (layout::data_of(presence) != 0) {
        if ((taken & 1U) == 0 && take_unit(block, p, row, to, unit, first)) taken |= 1U;
        if ((taken & 2U) == 0 && take_unit(block, p, row, to, unit + threads, second)) taken |= 2U;
        if (taken != 3) return false;
        if (base + 2 * threads < row.units) continue;
      } else {
        auto* ids = ws.local<std::uint32_t>(ws.layout.offset_of(layout::region::topk_ids)) + to.row * p.routing.top_k;
        SWITCHYARD_ROLLED
        for (auto k = block.thread_index(); k < p.routing.top_k; k += threads) {
          block.store_u32(ids + k, static_cast<std::uint32_t>(p.invalid_expert_id));
        }
      }
      return true;
    }
  }
  SWITCHYARD_DEVICE static bool take_unit(Block& block, const dispatch_params& p, const lamport_row& row,
                                          const row_target& to, std::uint32_t unit, word_pair words) {
    if (unit >= row.units) return true;
    if (!has_come(block, row, unit, words)) return false;
    const auto in_views = locate(p.payloads, unit);
    block.store_unit(in_views, in_views.at(to), words);
    rearm_unit(block, row, unit);
    return true;
  }
};

/// The clerk's counts of rows from each source, in the scratch.
template <block Block>
SWITCHYARD_DEVICE std::uint32_t* counts_of(Block& block, const dispatch_params& p) {
  return block.scratch(scratch_words(p)) + lamport_plan_words(p.ws.layout.dims.slots());
}
template <block Block>
SWITCHYARD_DEVICE void clear_counts(Block& block, const dispatch_params& p) {
  auto* counts = counts_of(block, p);
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); i < static_cast<std::uint32_t>(p.ws.ep_size); i += block.num_threads()) {
    counts[i] = 0;
  }
}
/// Tells the caller. The team has synchronised after the last count. [team]
template <block Block>
SWITCHYARD_DEVICE void store_counts(Block& block, const dispatch_params& p) {
  const auto* counts = counts_of(block, p);
  auto* view = p.ws.local<std::int32_t>(p.ws.layout.offset_of(layout::region::recv_counts));
  SWITCHYARD_ROLLED
  for (std::int32_t i = 0; i < p.ws.ep_size; ++i) block.fill_i32(view + i, static_cast<std::int32_t>(counts[i]), 1);
}

/// How far a block has come in its usual course.
enum class lamport_stage : std::uint32_t { outside, entered, sent };

/// The rest of a dispatch from there on, whatever is unusual. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void finish_dispatch(handed_over<Block> block, const dispatch_params& p, lamport_stage stage,
                                             row_taker<std::remove_reference_t<Block>> taker, header_reader reader) {
  const auto& ws = p.ws;
  const auto index = block.block_index();
  auto& frame = lamport_frame_of(block, scratch_words(p));
  bool succeeded = true;
  if (stage == lamport_stage::outside) {
    clear_counts(block, p);
    (void)enter_lamport(block, p, phase::dispatch, frame, is_clerk(ws, index), [] {});
  }
  complete_frame(block, p, phase::dispatch, frame);
  if (stage != lamport_stage::sent) {
    succeeded = open_late(block, ws, frame);
    if (succeeded && (frame.claim & 1U) == 0) send_part_of(block, p, frame, index);
    block.allow_next_launch();
  }
  // Headers first: they tell a rank that is late, or in another step, from rows that are.
  if (succeeded && is_clerk(ws, index)) {
    auto* counts = counts_of(block, p);
    succeeded = await_headers(block, p, frame, reader, static_cast<std::uint32_t>(p.tokens_per_rank),
                              [&](std::int32_t source) { block.scratch_add(counts + source, 1); });
    if (succeeded) store_counts(block, p);
    if (succeeded && gathers(block, p)) {
      succeeded = receive_statistics<Block>(block, p, frame, 0, 1);
    }
  }
  if (succeeded && is_worker(ws, index)) {
    const auto status = wait_and_help(
        block, p, frame, [&](std::uint32_t polls) { return taker.advance(block, p, frame.epoch, polls); },
        awaited::rows, [] { return false; });
    if (status != wait_status::ready) {
      const auto late = first_late<Block>(block, ws, taker.index, num_peer_tokens(ws, p.tokens_per_rank));
      succeeded = settle(block, ws, frame, status, awaited::rows, late);
    }
  }
  if (succeeded) {
    leave_succeeded(block, ws, phase::dispatch);
  } else {
    block.sync();
    leave_failed<Block>(block, ws, frame, [&] { clear_views<Block>(block, p); });
  }
}

template <block Block>
SWITCHYARD_DEVICE void lamport_dispatch(Block& block, const dispatch_params& p) {
  const auto& ws = p.ws;
  const auto index = block.block_index();
  const auto tokens = static_cast<std::uint32_t>(p.tokens_per_rank);
  row_taker<Block> taker{index};
  header_reader reader;
  if (ws.num_blocks == 1) return finish_dispatch<Block>(block, p, lamport_stage::outside, taker, reader);
  auto& frame = lamport_frame_of(block, scratch_words(p));
  auto* plan = lamport_plan_of(block, scratch_words(p));
  const bool clerk = is_clerk(ws, index);
  const bool has_token = !clerk && index < tokens;
  {
    const auto token = has_token ? index : static_cast<std::uint32_t>(p.num_tokens);  // or none
    token_plan<Block> leads;
    token_units<Block> units;
    if (block.leads()) leads.fetch(block, p, token);
    units.load(block, p, token, 0);
    if (clerk) clear_counts(block, p);
    if (!enter_lamport(block, p, phase::dispatch, frame, clerk, [&] { leads.tell_team(block, p, token, plan); })) {
      return finish_dispatch<Block>(block, p, lamport_stage::entered, taker, reader);
    }
    if (has_token) {
      if (block.leads()) leads.tell_others(block, p, frame.epoch, token);
      units.send(block, p, 0, plan);
      if (p.payloads.units_of_row() > 2 * num_sending(block)) send_rest_of_token<Block>(block, p, token, plan);
    }
  }
  auto status = wait_status::ready;
  if (clerk) {
    (void)latch_mask(block, ws, frame, true);  // it was good at entry
    send_as_dispatch_clerk(block, p, frame, true);
    block.allow_next_launch();
    auto* counts = counts_of(block, p);
    const auto on_token = [&](std::int32_t source) { block.scratch_add(counts + source, 1); };
    status =
        block.wait_until([&](std::uint32_t polls) { return reader.advance(block, ws, frame, tokens, on_token, polls); },
                         no_bounds(awaited::header), [] { return true; });
    // Statistics are awaited there too, whatever else is as usual.
    if (!block.all(status == wait_status::ready && !reader.differs) || gathers(block, p)) {
      return finish_dispatch<Block>(block, p, lamport_stage::sent, taker, reader);
    }
    store_counts(block, p);
  } else {
    SWITCHYARD_ROLLED
    for (auto token = index + num_workers(ws); token < tokens; token += num_workers(ws)) {
      send_token<Block>(block, p, frame, token, plan);
    }
    block.allow_next_launch();
    const auto epoch = frame.epoch;
    status = block.wait_until([&](std::uint32_t polls) { return taker.advance(block, p, epoch, polls); },
                              no_bounds(awaited::rows), [] { return true; });
    if (status != wait_status::ready) return finish_dispatch<Block>(block, p, lamport_stage::sent, taker, reader);
  }
  leave_succeeded(block, ws, phase::dispatch);
}

}  // namespace switchyard::protocol
