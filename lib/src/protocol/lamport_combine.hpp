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

namespace switchyard::protocol {

SWITCHYARD_DEVICE inline lamport_row output_row(const combine_params& p, std::int32_t origin, std::uint64_t place) {
  return {p.ws.at<std::uint64_t>(origin, p.ws.layout.lamport_output_offset(place)), p.outputs.units_of_row()};
}

/// A unit of the experts' outputs.
SWITCHYARD_DEVICE inline located_unit locate_output(const combine_params& p, std::uint32_t unit) {
  const auto row_bytes = p.outputs.items[0].row_bytes;
  const auto offset = unit * static_cast<std::uint32_t>(layout::unit_bytes);
  const auto rest = offset < row_bytes ? row_bytes - offset : 0;
  return {p.outputs.items[0].data + offset, offset, row_bytes,
          rest < layout::unit_bytes ? rest : static_cast<std::uint32_t>(layout::unit_bytes)};
}

/// Two units of an output, of a thread's.
template <class Block>
struct output_units {
  located_unit first;
  located_unit second;
  word_pair words[2];

  SWITCHYARD_DEVICE void load(Block& block, const combine_params& p, std::uint64_t row, std::uint32_t base) {
    first = locate_output(p, base + block.thread_index());
    second = locate_output(p, base + block.thread_index() + block.num_threads());
    if (first.bytes != 0) words[0] = block.load_unit(first, row);
    if (second.bytes != 0) words[1] = block.load_unit(second, row);
  }
  SWITCHYARD_DEVICE void send(Block& block, const combine_params& p, std::uint32_t base, std::uint64_t to) const {
    const lamport_row row{reinterpret_cast<std::uint64_t*>(to), p.outputs.units_of_row()};
    const auto unit = base + block.thread_index();
    if (first.bytes != 0) send_unit(block, row, unit, words[0]);
    if (second.bytes != 0) send_unit(block, row, unit + block.num_threads(), words[1]);
  }
};

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
template <block Block>
SWITCHYARD_DEVICE_APART void send_rest_of_output(handed_over<Block> block, const combine_params& p, std::uint64_t row,
                                                 std::uint64_t to) {
  SWITCHYARD_ROLLED
  for (auto base = 2 * block.num_threads(); base < p.outputs.units_of_row(); base += 2 * block.num_threads()) {
    output_units<std::remove_reference_t<Block>> units;
    units.load(block, p, row, base);
    units.send(block, p, base, to);
  }
}
/// Sends an output of which the team has been told nothing yet. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void send_output(handed_over<Block> block, const combine_params& p, std::uint32_t output,
                                         std::uint64_t* plan) {
  const auto of = peer_token_at(p.ws, output);
  output_units<Block> units;
  units.load(block, p, row_of(p, of), 0);
  block.sync();  // what the team was told last has been looked at
  if (block.leads() && block.lane() == 0) *plan = destination_of(p, of, told_of(block, p, of));
  block.sync();
  if (*plan == 0) return;
  units.send(block, p, 0, *plan);
  if (p.outputs.units_of_row() > 2 * block.num_threads()) send_rest_of_output<Block>(block, p, row_of(p, of), *plan);
}

template <block Block>
SWITCHYARD_DEVICE void send_as_combine_clerk(Block& block, const combine_params& p, const phase_frame& frame,
                                             bool released) {
  send_as_clerk(block, p, frame, released);
  forget_dropped(block, p.ws);
}

/// Sends what block `index` is to send: as the clerk the header and the credit, as a worker outputs. [team]
template <block Block>
SWITCHYARD_DEVICE void send_part_of(Block& block, const combine_params& p, const phase_frame& frame,
                                    std::uint32_t index) {
  if (is_clerk(p.ws, index)) send_as_combine_clerk(block, p, frame, false);
  auto* plan = lamport_plan_of(block, scratch_words(p));
  const auto total = num_peer_tokens(p.ws, p.tokens_per_rank);
  SWITCHYARD_ROLLED
  for (auto output = index; is_worker(p.ws, index) && output < total; output += num_workers(p.ws)) {
    send_output<Block>(block, p, output, plan);
  }
}

/// Where a sum finds this rank's own output.
inline constexpr std::uint64_t own_output = 1;

/// The leader tells the team the sources of a token: for each slot a row of the inbox, or own_output; then 0. They lie
/// behind where an output goes, which blocks that help still write to.
template <block Block>
SWITCHYARD_DEVICE std::uint64_t* sources_of(Block& block, const combine_params& p) {
  return lamport_plan_of(block, scratch_words(p)) + 1;
}
/// The rank of the slot that a lane of the leader tells first, as loaded.
template <block Block>
SWITCHYARD_DEVICE std::int32_t first_rank_of(Block& block, const combine_params& p, std::uint32_t token) {
  const auto slots = static_cast<std::uint32_t>(p.ws.layout.dims.slots());
  if (block.lane() >= slots || token >= p.num_tokens) return -1;
  const auto* routes = p.ws.local<layout::route>(p.ws.layout.offset_of(layout::region::routes));
  return routes[wide_product(token, slots) + block.lane()].rank;
}
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

/// A thread on its way through the sum of a token: two units at a time, source after source in slot order, so that the
/// order of the sum is the contract's whatever comes first.
template <class Block>
class output_summer {
 public:
  SWITCHYARD_DEVICE void begin(Block& block, const combine_params& p, std::uint32_t token) {
    token_ = token;
    unit_ = block.thread_index();
    begin_units(block, p, sources_of(block, p));
  }

  /// False after so many fruitless polls; to be gone on with.
  SWITCHYARD_DEVICE bool advance(Block& block, const combine_params& p, std::uint32_t polls) {
    const auto* sources = sources_of(block, p);
    const auto units = p.outputs.units_of_row();
    SWITCHYARD_ROLLED
    while (unit_ < units) {
      SWITCHYARD_ROLLED
      while (sources[slot_] != 0) {
        if (!take(block, p, sources) && --polls == 0) return false;
      }
      store(block, p);
      unit_ += 2 * block.num_threads();
      begin_units(block, p, sources);
    }
    return true;
  }

  [[nodiscard]] SWITCHYARD_DEVICE std::uint32_t token() const { return token_; }
  /// The slot whose output the thread waits for. What was taken of a row is gone, so nothing else tells.
  [[nodiscard]] SWITCHYARD_DEVICE std::int32_t awaited_slot(const combine_params& p) const {
    return unit_ < p.outputs.units_of_row() ? static_cast<std::int32_t>(slot_) : -1;
  }

 private:
  /// Loads what this rank's own experts may have for the units, before it is known whether they do: then it is there
  /// when its turn comes.
  SWITCHYARD_DEVICE void begin_units(Block& block, const combine_params& p, const std::uint64_t* sources) {
    slot_ = 0;
    taken_ = 0;
    const auto units = p.outputs.units_of_row();
    if (unit_ >= units) return;
    alone_ = sources[0] == 0 || sources[1] == 0;
    const auto row = wide_product(static_cast<std::uint32_t>(p.ws.rank), p.tokens_per_rank) + token_;
    own_[0] = block.load_unit(locate_output(p, unit_), row);
    const auto second = unit_ + block.num_threads();
    if (second < units) own_[1] = block.load_unit(locate_output(p, second), row);
  }

  /// Adds what the source at hand has for the two units. False while not all of it is here; what is is kept.
  SWITCHYARD_DEVICE bool take(Block& block, const combine_params& p, const std::uint64_t* sources) {
    if (sources[slot_] == own_output) {
      words_[0] = own_[0];
      words_[1] = own_[1];
    } else {
      const lamport_row row{reinterpret_cast<std::uint64_t*>(sources[slot_]), p.outputs.units_of_row()};
      const auto second = unit_ + block.num_threads();
      const auto before = taken_;
      word_pair words[2]{};
      if ((before & 1U) == 0) words[0] = block.load_words(row.at(unit_));
      if ((before & 2U) == 0 && second < row.units) words[1] = block.load_words(row.at(second));
      if ((before & 1U) == 0 && has_come(block, row, unit_, words[0])) {
        rearm_unit(block, row, unit_);
        words_[0] = words[0];
        taken_ |= 1U;
      }
      if (second >= row.units) taken_ |= 2U;
      if ((taken_ & 2U) == 0 && has_come(block, row, second, words[1])) {
        rearm_unit(block, row, second);
        words_[1] = words[1];
        taken_ |= 2U;
      }
      if (taken_ != 3) return false;
    }
    // Where there is one source alone, its bits come back as they are.
    block.add_unit(sum_[0], words_[0], slot_ == 0, alone_, p.type);
    block.add_unit(sum_[1], words_[1], slot_ == 0, alone_, p.type);
    taken_ = 0;
    ++slot_;
    return true;
  }
  SWITCHYARD_DEVICE void store(Block& block, const combine_params& p) {
    const bool none = slot_ == 0;  // exact +0
    const auto store_sum = [&](std::uint32_t unit, typename Block::unit_sum& sum) {
      const auto words = none ? word_pair{} : block.rounded_unit(sum, alone_, p.type);
      const auto in_output = locate_output(p, unit);
      block.store_unit(in_output, in_output.at({p.output, token_}), words);
    };
    store_sum(unit_, sum_[0]);
    const auto second = unit_ + block.num_threads();
    if (second < p.outputs.units_of_row()) store_sum(second, sum_[1]);
  }

  std::uint32_t token_ = ~std::uint32_t{0};
  std::uint32_t unit_ = 0;  ///< the first of the two
  std::uint32_t slot_ = 0;
  std::uint32_t taken_ = 0;  ///< which of the two the source at hand has given
  bool alone_ = false;
  word_pair own_[2]{};
  word_pair words_[2]{};  ///< of the source at hand
  typename Block::unit_sum sum_[2];
};

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

/// Goes on to the worker's next token, and tells the team its sources. False when there is none. [team]
template <block Block>
SWITCHYARD_DEVICE bool next_sum(Block& block, const combine_params& p, output_summer<Block>& summer) {
  const auto token = summer.token() + num_workers(p.ws);
  if (token >= p.num_tokens) return false;
  if (block.leads()) tell_sources(block, p, token, first_rank_of(block, p, token));
  block.sync();
  summer.begin(block, p, token);
  return true;
}

/// The rest of a combine from `stage` on, whatever is unusual. `summer`: of the token at hand, once all is sent. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void finish_combine(handed_over<Block> block, const combine_params& p, lamport_stage stage,
                                            output_summer<std::remove_reference_t<Block>> summer,
                                            header_reader reader) {
  const auto& ws = p.ws;
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

template <block Block>
SWITCHYARD_DEVICE void lamport_combine(Block& block, const combine_params& p) {
  const auto& ws = p.ws;
  const auto index = block.block_index();
  output_summer<Block> summer;
  header_reader reader;
  if (ws.num_blocks == 1) return finish_combine<Block>(block, p, lamport_stage::outside, summer, reader);
  auto& frame = lamport_frame_of(block, scratch_words(p));
  auto* plan = lamport_plan_of(block, scratch_words(p));
  const auto total = num_peer_tokens(ws, p.tokens_per_rank);
  const bool clerk = is_clerk(ws, index);
  {
    const bool is_there = !clerk && index < total;
    const auto of = is_there ? peer_token_at(ws, index) : peer_token{};
    output_units<Block> units;
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
      if (p.outputs.units_of_row() > 2 * block.num_threads()) {
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
