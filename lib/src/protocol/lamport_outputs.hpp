// SPDX-License-Identifier: Apache-2.0
// What a thread of a Lamport combine does with outputs that travel as they are: units of 16 bytes, two at a time.
#pragma once

#include <cstdint>

#include "protocol/lamport_phase.hpp"
#include "protocol/lamport_rows.hpp"

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
  static constexpr std::uint32_t at_once = 2;  ///< of a thread

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

/// Where a sum finds this rank's own output.
inline constexpr std::uint64_t own_output = 1;

/// The leader tells the team the sources of a token: for each slot a row of the inbox, or own_output; then 0. They lie
/// behind where an output goes, which blocks that help still write to.
template <block Block>
SWITCHYARD_DEVICE std::uint64_t* sources_of(Block& block, const combine_params& p) {
  return lamport_plan_of(block, scratch_words(p)) + 1;
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

  /// advance() goes through all of a token's units.
  SWITCHYARD_DEVICE static constexpr bool goes_on(Block&, const combine_params&) { return false; }

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

}  // namespace switchyard::protocol
