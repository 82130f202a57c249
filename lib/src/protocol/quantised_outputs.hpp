// SPDX-License-Identifier: Apache-2.0
// What a thread of a Lamport combine does with outputs that travel in low precision: units of sixteen elements, one at
// a time, because a sum has a register for each of them.
//
// Elements are Lamport words as any others. A scale is for as many threads as its block has units, none of which knows
// when the others have it, so nobody could re-arm it: it is a word that is valid by its tag, the epoch of the phase,
// like those of headers. It may be overwritten when the units may, for the same reason (docs/decisions/009 and 017).
#pragma once

#include <bit>
#include <cstdint>

#include "protocol/lamport_outputs.hpp"
#include "protocol/quantised_rows.hpp"

namespace switchyard::protocol {

/// The scale of a unit in a row of the inbox.
SWITCHYARD_DEVICE inline std::uint64_t* scale_word(const quantised_combine_params& p, std::uint64_t* row,
                                                   std::uint32_t unit) {
  return row + p.ws.layout.dims.lamport_scales_offset() / sizeof(*row) + unit / layout::units_of_scale;
}
/// The epoch of the phase at hand, which the block has entered.
template <class Block>
SWITCHYARD_DEVICE std::uint32_t epoch_in(Block& block, const quantised_combine_params& p) {
  return lamport_frame_of(block, scratch_words(p)).epoch;
}

/// A unit of an output, of a thread's.
template <class Block>
struct quantised_units {
  static constexpr std::uint32_t at_once = 1;  ///< of a thread

  quantised_unit held;

  SWITCHYARD_DEVICE void load(Block& block, const quantised_combine_params& p, std::uint64_t row, std::uint32_t base) {
    const auto shape = shape_of(p);
    held = block.quantise_unit(p.expert_output + wide_product(row, shape.plain_row_bytes()),
                               base + block.thread_index(), shape);
  }
  SWITCHYARD_DEVICE void send(Block& block, const quantised_combine_params& p, std::uint32_t base,
                              std::uint64_t to) const {
    const lamport_row row{reinterpret_cast<std::uint64_t*>(to), p.outputs.units_of_row()};
    const auto unit = base + block.thread_index();
    if (unit >= row.units) return;
    send_unit(block, row, unit, held.words);
    if (shape_of(p).has_scales() && unit % layout::units_of_scale == 0) {
      block.post(scale_word(p, row.words, unit),
                 layout::tagged(std::bit_cast<std::uint32_t>(held.scale), epoch_in(block, p)));
    }
  }
};

/// A thread on its way through the sum of a token: a unit, source after source in slot order. Between two units of a
/// thread the team meets, because it quantises this rank's own outputs together.
template <class Block>
class quantised_summer {
 public:
  SWITCHYARD_DEVICE void begin(Block& block, const quantised_combine_params& p, std::uint32_t token) {
    token_ = token;
    begin_unit(block, p, block.thread_index());
  }

  /// Whether the token has further units, to advance() through. [team]
  SWITCHYARD_DEVICE bool goes_on(Block& block, const quantised_combine_params& p) {
    const auto next = unit_ + block.num_threads();
    if (next - block.thread_index() >= p.outputs.units_of_row()) return false;
    begin_unit(block, p, next);
    return true;
  }

  /// False after so many fruitless polls; to be gone on with.
  SWITCHYARD_DEVICE bool advance(Block& block, const quantised_combine_params& p, std::uint32_t polls) {
    if (is_summed_) return true;
    const auto* sources = sources_of(block, p);
    SWITCHYARD_ROLLED
    while (sources[slot_] != 0) {
      if (!take(block, p, sources) && --polls == 0) return false;
    }
    const auto shape = shape_of(p);
    if (slot_ == 0) sum_ = {};  // exact +0
    block.store_quantised_sum(p.output + wide_product(token_, shape.plain_row_bytes()), unit_, sum_, shape);
    is_summed_ = true;
    return true;
  }

  [[nodiscard]] SWITCHYARD_DEVICE std::uint32_t token() const { return token_; }
  /// The slot whose output the thread waits for.
  [[nodiscard]] SWITCHYARD_DEVICE std::int32_t awaited_slot(const combine_params&) const {
    return is_summed_ ? -1 : static_cast<std::int32_t>(slot_);
  }

 private:
  SWITCHYARD_DEVICE void begin_unit(Block& block, const quantised_combine_params& p, std::uint32_t unit) {
    unit_ = unit;
    slot_ = 0;
    has_words_ = false;
    is_summed_ = unit >= p.outputs.units_of_row();
    const auto* sources = sources_of(block, p);
    bool has_own = false;
    SWITCHYARD_ROLLED
    for (std::uint32_t slot = 0; sources[slot] != 0; ++slot) has_own |= sources[slot] == own_output;
    if (!has_own) return;
    const auto shape = shape_of(p);
    const auto row = wide_product(static_cast<std::uint32_t>(p.ws.rank), p.tokens_per_rank) + token_;
    own_ = block.quantise_unit(p.expert_output + wide_product(row, shape.plain_row_bytes()), unit, shape);
  }

  /// Adds what the source at hand has for the unit. False while not all of it is here; what is is kept.
  SWITCHYARD_DEVICE bool take(Block& block, const quantised_combine_params& p, const std::uint64_t* sources) {
    if (sources[slot_] == own_output) {
      block.add_quantised(sum_, own_, slot_ == 0);
    } else {
      const lamport_row row{reinterpret_cast<std::uint64_t*>(sources[slot_]), p.outputs.units_of_row()};
      const bool has_scales = shape_of(p).has_scales();
      const auto scale = has_scales ? block.poll(scale_word(p, row.words, unit_)) : 0;
      if (!has_words_) {
        auto words = block.load_words(row.at(unit_));
        if (!has_come(block, row, unit_, words)) return false;
        rearm_unit(block, row, unit_);
        words_ = words;
        has_words_ = true;
      }
      if (has_scales && layout::tag_of(scale) != epoch_in(block, p)) return false;
      const float by = has_scales ? std::bit_cast<float>(layout::data_of(scale)) : 1.0F;
      block.add_quantised(sum_, {words_, by}, slot_ == 0);
      has_words_ = false;
    }
    ++slot_;
    return true;
  }

  std::uint32_t token_ = ~std::uint32_t{0};
  std::uint32_t unit_ = 0;
  std::uint32_t slot_ = 0;
  bool has_words_ = false;  ///< of the source at hand
  bool is_summed_ = true;
  quantised_unit own_;
  word_pair words_{};  ///< of the source at hand
  typename Block::quantised_sum sum_;
};

}  // namespace switchyard::protocol
