// SPDX-License-Identifier: Apache-2.0
// Combine over the Lamport transport: owners store their experts' rows, word by word its own flag, into the origins'
// inboxes; origins sum the words as they come, in slot order, and re-arm each right after they took it.
//
// Why words may be overwritten (invariant 3): docs/decisions/009-lamport-rearming.md. This combine stores to words that
// their origin took, and re-armed, in an earlier combine; the origin's dispatch of this step granted a credit after
// that, which this rank has acquired at entry.
#pragma once

#include <cstdint>

#include "protocol/lamport_dispatch.hpp"
#include "protocol/lamport_outputs.hpp"
#include "protocol/quantised_outputs.hpp"

namespace switchyard::protocol {

/// What a thread does with outputs in the form in which they travel, which follows from the type of the parameters.
template <class Block, class Params>
struct output_form {
  using units = output_units<Block>;
  using summer = output_summer<Block>;
};
template <class Block>
struct output_form<Block, quantised_combine_params> {
  using units = quantised_units<Block>;
  using summer = quantised_summer<Block>;
};
template <class Block, class Params>
using units_for = typename output_form<std::remove_reference_t<Block>, Params>::units;
template <class Block, class Params>
using summer_for = typename output_form<std::remove_reference_t<Block>, Params>::summer;

/// The row of this rank's views that came from there, and so of the outputs.
SWITCHYARD_DEVICE inline std::uint64_t row_of(const combine_params& p, peer_token of) {
  return wide_product(static_cast<std::uint32_t>(of.peer), p.tokens_per_rank) + of.token;
}
/// For the leader: what a source has told of a token, as it stands, and the epoch of the dispatch that it should be of.
struct told_place {
  std::uint64_t presence = 0;
  std::uint32_t epoch = 0;
};
template <block Block>
SWITCHYARD_DEVICE told_place told_of(Block& block, const combine_params& p, peer_token of) {
  return {block.poll(p.ws.presence(p.ws.rank, of.peer, of.token)), p.ws.block_state(block.block_index()).lamport_epoch};
}
/// Where the output of a row goes, or 0. A word of another epoch is of a source that takes no part, or of one that is a
/// step ahead: it has waited for all outputs of its tokens, so this token had none here, or has been sent.
SWITCHYARD_DEVICE inline std::uint64_t destination_of(const combine_params& p, peer_token of, told_place told) {
  const auto slot = layout::data_of(told.presence);
  if (layout::tag_of(told.presence) != told.epoch || slot == 0) return 0;
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  const auto place = wide_product(of.token, slots) + slot - 1;
  return reinterpret_cast<std::uint64_t>(output_row(p, of.peer, place).words);
}
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE_APART void send_rest_of_output(handed_over<Block> block, const Params& p, std::uint64_t row,
                                                 std::uint64_t to) {
  using output = units_for<Block, Params>;
  const auto step = output::at_once * block.num_threads();
  SWITCHYARD_ROLLED
  for (auto base = step; base < p.outputs.units_of_row(); base += step) {
    output units;
    units.load(block, p, row, base);
    units.send(block, p, base, to);
  }
}
/// Sends an output of which the team has been told nothing yet. [team]
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE_APART void send_output(handed_over<Block> block, const Params& p, std::uint32_t output,
                                         std::uint64_t* plan) {
  const auto of = peer_token_at(p.ws, output);
  units_for<Block, Params> units;
  units.load(block, p, row_of(p, of), 0);
  block.sync();  // what the team was told last has been looked at
  if (block.leads() && block.lane() == 0) *plan = destination_of(p, of, told_of(block, p, of));
  block.sync();
  if (*plan == 0) return;
  units.send(block, p, 0, *plan);
  if (p.outputs.units_of_row() > units.at_once * block.num_threads()) {
    send_rest_of_output<Block>(block, p, row_of(p, of), *plan);
  }
}

template <block Block>
SWITCHYARD_DEVICE void send_as_combine_clerk(Block& block, const combine_params& p, const phase_frame& frame,
                                             bool released) {
  send_as_clerk(block, p, frame, released);
  forget_dropped(block, p.ws);
}

/// Sends what block `index` is to send: as the clerk the header and the credit, as a worker outputs. [team]
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE void send_part_of(Block& block, const Params& p, const phase_frame& frame, std::uint32_t index) {
  if (is_clerk(p.ws, index)) send_as_combine_clerk(block, p, frame, false);
  auto* plan = lamport_plan_of(block, scratch_words(p));
  const auto total = num_peer_tokens(p.ws, p.tokens_per_rank);
  SWITCHYARD_ROLLED
  for (auto output = index; is_worker(p.ws, index) && output < total; output += num_workers(p.ws)) {
    send_output<Block>(block, p, output, plan);
  }
}

/// The rank of the slot that a lane of the leader tells first, as loaded.
template <block Block>
SWITCHYARD_DEVICE std::int32_t first_rank_of(Block& block, const combine_params& p, std::uint32_t token) {
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  if (block.lane() >= slots || token >= p.num_tokens) return -1;
  const auto* routes = p.ws.local<layout::route>(p.ws.layout.offset_of(layout::region::routes));
  return routes[wide_product(token, slots) + block.lane()].rank;
}
/// The leader tells the team the sources of a token, where sources_of() has them.
template <block Block>
SWITCHYARD_DEVICE void tell_sources(Block& block, const combine_params& p, std::uint32_t token, std::int32_t rank) {
  const auto& ws = p.ws;
  const auto slots = static_cast<std::uint32_t>(ws.layout.dims.slots());
  auto* sources = sources_of(block, p);
  const auto first = wide_product(token, slots);
  const auto* routes = ws.local<layout::route>(ws.layout.offset_of(layout::region::routes)) + first;
  SWITCHYARD_ROLLED
  for (auto slot = block.lane(); slot <= slots; slot += block.lanes()) {
    if (slot != block.lane()) rank = slot < slots && token < p.num_tokens ? routes[slot].rank : -1;
    std::uint64_t source = 0;
    if (rank == ws.rank) source = own_output;
    if (rank >= 0 && rank != ws.rank) {
      source = reinterpret_cast<std::uint64_t>(output_row(p, ws.rank, first + slot).words);
    }
    sources[slot] = source;
  }
}

/// The rank of the highest slot of a token that a thread waits for. [team]
template <block Block>
SWITCHYARD_DEVICE_APART std::int32_t awaited_rank(handed_over<Block> block, const combine_params& p,
                                                  std::uint32_t token, std::int32_t mine) {
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  auto slot = slots;
  SWITCHYARD_ROLLED
  while (slot > 0 && block.team_sum(mine + 1 == static_cast<std::int32_t>(slot) ? 1 : 0) == 0) --slot;
  block.sync();
  const auto* routes = p.ws.local<layout::route>(p.ws.layout.offset_of(layout::region::routes));
  return slot == 0 ? -1 : routes[wide_product(token, slots) + slot - 1].rank;
}

/// Goes on to what is left of the token at hand, or to the worker's next token, and tells the team its sources. False
/// when there is none. [team]
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE bool next_sum(Block& block, const Params& p, summer_for<Block, Params>& summer) {
  if (summer.goes_on(block, p)) return true;
  const auto token = summer.token() + num_workers(p.ws);
  if (token >= p.num_tokens) return false;
  if (block.leads()) tell_sources(block, p, token, first_rank_of(block, p, token));
  block.sync();
  summer.begin(block, p, token);
  return true;
}

/// The rest of a combine from `stage` on, whatever is unusual. `summer`: of the token at hand, once all is sent. [team]
template <block Block, combine_kind Params>
SWITCHYARD_DEVICE_APART void finish_combine(handed_over<Block> block, const Params& p, lamport_stage stage,
                                            summer_for<Block, Params> summer, header_reader reader) {
  const workspace_handle& ws = p.ws;
  const auto index = block.block_index();
  auto& frame = lamport_frame_of(block, scratch_words(p));
  bool succeeded = true;
  bool sums = is_worker(ws, index);
  if (stage == lamport_stage::outside) (void)enter_lamport(block, p, phase::combine, frame, is_clerk(ws, index), [] {});
  complete_frame(block, p, phase::combine, frame);
  if (stage != lamport_stage::sent) {
    succeeded = open_late(block, ws, frame);
    if (succeeded && (frame.claim & 1U) == 0) send_part_of(block, p, frame, index);
    block.allow_next_launch();
    sums = sums && succeeded && index < p.num_tokens;
    block.sync();
    if (block.leads()) tell_sources(block, p, index, first_rank_of(block, p, index));
    block.sync();
    if (sums) summer.begin(block, p, index);
  }
  if (succeeded && is_clerk(ws, index)) succeeded = await_headers(block, p, frame, reader, 0, [](std::int32_t) {});
  SWITCHYARD_ROLLED
  while (sums && succeeded) {
    const auto status = wait_and_help(
        block, p, frame, [&](std::uint32_t polls) { return summer.advance(block, p, polls); }, awaited::rows,
        [] { return false; });
    if (status != wait_status::ready) {
      const auto late = awaited_rank<Block>(block, p, summer.token(), summer.awaited_slot(p));
      succeeded = settle(block, ws, frame, status, awaited::rows, late);
    }
    sums = succeeded && next_sum(block, p, summer);
  }
  if (succeeded) {
    leave_succeeded(block, ws, phase::combine);
  } else {
    block.sync();
    // A failed combine must not be mistaken for a result.
    leave_failed<Block>(block, ws, frame, [&] { block.fill_nan(p.output, p.num_tokens * p.elements, p.type); });
  }
}

template <block Block, combine_kind Params>
SWITCHYARD_DEVICE void lamport_combine(Block& block, const Params& p) {
  const workspace_handle& ws = p.ws;
  const auto index = block.block_index();
  summer_for<Block, Params> summer;
  header_reader reader;
  if (ws.num_blocks == 1) return finish_combine<Block>(block, p, lamport_stage::outside, summer, reader);
  auto& frame = lamport_frame_of(block, scratch_words(p));
  auto* plan = lamport_plan_of(block, scratch_words(p));
  const auto total = num_peer_tokens(ws, p.tokens_per_rank);
  const bool clerk = is_clerk(ws, index);
  {
    const bool is_there = !clerk && index < total;
    const auto of = is_there ? peer_token_at(ws, index) : peer_token{};
    units_for<Block, Params> units;
    told_place told;
    std::int32_t rank = -1;
    if (!clerk && block.leads()) {
      if (is_there) told = told_of(block, p, of);
      rank = first_rank_of(block, p, index);
    }
    if (is_there) units.load(block, p, row_of(p, of), 0);
    if (!enter_lamport(block, p, phase::combine, frame, clerk, [&] {
          tell_sources(block, p, index, rank);
          if (block.lane() == 0) *plan = destination_of(p, of, told);
        })) {
      return finish_combine<Block>(block, p, lamport_stage::entered, summer, reader);
    }
    if (*plan != 0) {
      units.send(block, p, 0, *plan);
      if (p.outputs.units_of_row() > units.at_once * block.num_threads()) {
        send_rest_of_output<Block>(block, p, row_of(p, of), *plan);
      }
    }
  }
  if (clerk) {
    send_as_combine_clerk(block, p, frame, true);
    block.allow_next_launch();
    const auto status = block.wait_until(
        [&](std::uint32_t polls) {
          return reader.advance(
              block, ws, frame, 0, [](std::int32_t) {}, polls);
        },
        no_bounds(awaited::header), [] { return true; });
    if (!block.all(status == wait_status::ready && !reader.differs)) {
      return finish_combine<Block>(block, p, lamport_stage::sent, summer, reader);
    }
  } else {
    SWITCHYARD_ROLLED
    for (auto output = index + num_workers(ws); output < total; output += num_workers(ws)) {
      send_output<Block>(block, p, output, plan);
    }
    block.allow_next_launch();
    if (index < p.num_tokens) {
      summer.begin(block, p, index);
      SWITCHYARD_ROLLED
      do {
        const auto status = block.wait_until([&](std::uint32_t polls) { return summer.advance(block, p, polls); },
                                             no_bounds(awaited::rows), [] { return true; });
        if (status != wait_status::ready) {
          return finish_combine<Block>(block, p, lamport_stage::sent, summer, reader);
        }
      } while (next_sum(block, p, summer));
    }
  }
  leave_succeeded(block, ws, phase::combine);
}

}  // namespace switchyard::protocol
