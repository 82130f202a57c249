// SPDX-License-Identifier: Apache-2.0
// Rows of Lamport words: how they are closed and re-armed, and how a block that has nothing better than one word at a
// time sends and takes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "layout/device_code.hpp"
#include "layout/lamport_row.hpp"
#include "protocol/lamport_words.hpp"
#include "protocol/payload_rows.hpp"
#include "protocol/wait_bounds.hpp"
#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::protocol {

/// A row that a peer stores into this rank's Lamport memory, and the row of the views that it is for.
struct arriving_row {
  std::uint64_t* words = nullptr;  ///< null: nothing is to come
  row_target to;
};

/// One source of a sum: a row of this rank's own experts, or one that a peer stores.
struct arriving_output {
  const std::byte* own = nullptr;
  std::uint64_t* words = nullptr;  ///< null where `own` is not
};

/// Whether all that stands behind a row's units has come: the trailer, and the list of exceptions where there is one.
/// [thread]
template <class Block>
SWITCHYARD_DEVICE bool is_closed(Block& block, const std::uint64_t* words, std::uint32_t units) {
  const auto trailer = block.load_word(words + layout::trailer_word(units));
  if (trailer == armed) return false;
  if (!has_exceptions(trailer)) return true;
  const auto* list = words + layout::exceptions_word(units);
  SWITCHYARD_ROLLED
  for (std::uint64_t i = 0; i < layout::exception_words(units); ++i) {
    if (block.load_word(list + i) == armed) return false;
  }
  return true;
}

/// Re-arms what stands behind the units of a row that was taken: exactly what was sent (invariant 3). Nobody else of
/// this rank may still look at it. Returns the trailer. [thread]
template <class Block>
SWITCHYARD_DEVICE std::uint64_t close_row(Block& block, std::uint64_t* words, std::uint32_t units) {
  const auto trailer = block.load_word(words + layout::trailer_word(units));
  if (has_exceptions(trailer)) {
    auto* list = words + layout::exceptions_word(units);
    SWITCHYARD_ROLLED
    for (std::uint64_t i = 0; i < layout::exception_words(units); ++i) block.store_word(list + i, armed);
  }
  block.store_word(words + layout::trailer_word(units), armed);
  return trailer;
}

/// What a stand-in stands for.
enum class meaning : std::uint32_t { unknown, itself, exception };

/// Looks word number `index` of a row up in the list of exceptions: unknown until trailer and list say so. [thread]
template <class Block>
SWITCHYARD_DEVICE meaning meaning_of_stand_in(Block& block, const std::uint64_t* words, std::uint32_t units,
                                              std::uint32_t index) {
  const auto trailer = block.load_word(words + layout::trailer_word(units));
  if (trailer == armed) return meaning::unknown;
  if (!has_exceptions(trailer)) return meaning::itself;
  const auto list = block.load_word(words + layout::exceptions_word(units) + index / 32);
  if (list == armed) return meaning::unknown;
  return (exception_bits(list) >> index % 32 & 1U) != 0 ? meaning::exception : meaning::itself;
}

/// Where a unit of a row lies: within which payload, from which byte on, and how many of them. Past those it is zeros.
struct unit_place {
  std::uint32_t payload;
  std::uint32_t offset;
  std::uint32_t bytes;
};
SWITCHYARD_DEVICE constexpr unit_place place_of(const payload_list& payloads, std::uint32_t unit) {
  std::uint32_t index = 0;
  std::uint32_t begin = 0;
  SWITCHYARD_ROLLED
  while (unit >= payloads.items[index].end_unit) begin = payloads.items[index++].end_unit;
  const auto offset = (unit - begin) * static_cast<std::uint32_t>(layout::unit_bytes);
  const auto rest = payloads.items[index].row_bytes - offset;
  return {index, offset, rest < layout::unit_bytes ? rest : static_cast<std::uint32_t>(layout::unit_bytes)};
}

/// The words of a unit, for blocks of CPU threads.
using unit_words = std::array<std::uint64_t, 2>;

/// Takes word by word what has come of a unit. False while one of the words, or what a stand-in means, is not here.
/// [thread]
template <class Block>
bool look_at_unit(Block& block, const std::uint64_t* words, std::uint32_t units, std::uint32_t unit,
                  unit_words& payload) {
  for (std::uint32_t i = 0; i < payload.size(); ++i) {
    const auto index = 2 * unit + i;
    const auto word = block.load_word(words + index);
    if (word == armed) return false;
    auto means = meaning::itself;
    if (word == stand_in) means = meaning_of_stand_in(block, words, units, index);
    if (means == meaning::unknown) return false;
    payload[i] = decoded(word, means == meaning::exception);
  }
  return true;
}

template <class Block>
void rearm_unit(Block& block, std::uint64_t* words, std::uint32_t unit) {
  block.store_word(words + 2 * unit, armed);
  block.store_word(words + 2 * unit + 1, armed);
}

/// send_words by thread `index` of `count`.
template <class Block, class RowAt, class OnException>
void send_one_by_one(Block& block, const payload_list& payloads, std::uint64_t token, std::uint32_t targets,
                     RowAt row_at, OnException on_exception, std::uint32_t index, std::uint32_t count) {
  for (auto unit = index; unit < payloads.units_of_row(); unit += count) {
    const auto place = place_of(payloads, unit);
    const auto& payload = payloads.items[place.payload];
    unit_words plain{};
    std::memcpy(plain.data(), payload.data + token * payload.row_bytes + place.offset, place.bytes);
    if (const auto bits = exceptions_in(plain[0], plain[1]); bits != 0) on_exception(unit, bits);
    for (std::uint32_t t = 0; t < targets; ++t) {
      std::uint64_t* row = row_at(t);
      if (row == nullptr) continue;
      for (std::uint32_t i = 0; i < plain.size(); ++i) block.store_word(row + 2 * unit + i, encoded(plain[i]));
    }
  }
}

/// take_rows by way of wait_all.
template <class Block, class ArrivingAt>
wait_status take_one_by_one(Block& block, std::uint64_t count, ArrivingAt arriving_at, const payload_list& payloads,
                            const wait_bounds& bounds) {
  const auto units = payloads.units_of_row();
  return block.wait_all(
      count * (units + 1),
      [&](std::uint64_t i) {
        const arriving_row row = arriving_at(i / (units + 1));
        const auto unit = static_cast<std::uint32_t>(i % (units + 1));
        if (row.words == nullptr) return true;
        if (unit == units) return is_closed(block, row.words, units);
        unit_words plain{};
        if (!look_at_unit(block, row.words, units, unit, plain)) return false;
        const auto place = place_of(payloads, unit);
        std::memcpy(row.to.in_region_of(payloads.items[place.payload]) + place.offset, plain.data(), place.bytes);
        rearm_unit(block, row.words, unit);
        return true;
      },
      bounds, [] { return false; });
}

/// take_sum by way of wait_all; reduce(out, rows, elements) sums a few elements of all sources.
template <class Block, class OutputAt, class Reduce>
wait_status sum_one_by_one(Block& block, std::byte* out, std::uint32_t sources, OutputAt output_at,
                           std::uint64_t elements, dtype type, const wait_bounds& bounds, Reduce reduce) {
  const auto row_bytes = elements * itemsize(type);
  const auto units = static_cast<std::uint32_t>(layout::units_of(row_bytes));
  return block.wait_all(
      units + sources,
      [&](std::uint64_t i) {
        if (i >= units) {
          const arriving_output source = output_at(static_cast<std::uint32_t>(i - units));
          return source.words == nullptr || is_closed(block, source.words, units);
        }
        const auto unit = static_cast<std::uint32_t>(i);
        const auto first = i * layout::unit_bytes;
        const auto bytes = row_bytes - first < layout::unit_bytes ? row_bytes - first : layout::unit_bytes;
        std::array<unit_words, max_top_k> held;
        for (std::uint32_t s = 0; s < sources; ++s) {
          const arriving_output source = output_at(s);
          if (source.words == nullptr) {
            std::memcpy(held[s].data(), source.own + first, bytes);
          } else if (!look_at_unit(block, source.words, units, unit, held[s])) {
            return false;  // those before it stay as they are, and are looked at again
          }
        }
        reduce(
            out + first, [&](std::uint32_t s) { return reinterpret_cast<const std::byte*>(held[s].data()); },
            bytes / itemsize(type));
        for (std::uint32_t s = 0; s < sources; ++s) {
          const arriving_output source = output_at(s);
          if (source.words != nullptr) rearm_unit(block, source.words, unit);
        }
        return true;
      },
      bounds, [] { return false; });
}

}  // namespace switchyard::protocol
