// SPDX-License-Identifier: Apache-2.0
// Rows of Lamport words: how one thread stores and takes a unit of them. Nothing is told from thread to thread: a unit
// with stand-ins has the word about them beside it.
#pragma once

#include <cstdint>

#include "layout/device_code.hpp"
#include "layout/lamport_row.hpp"
#include "protocol/lamport_words.hpp"
#include "protocol/payload_rows.hpp"

namespace switchyard::protocol {

/// A row of this many units in Lamport memory, at a peer or here.
struct lamport_row {
  std::uint64_t* words = nullptr;
  std::uint32_t units = 0;

  [[nodiscard]] constexpr std::uint64_t* at(std::uint32_t unit) const { return words + 2 * std::uint64_t{unit}; }
  [[nodiscard]] constexpr std::uint64_t* exceptions_at(std::uint32_t unit) const {
    return words + layout::exception_word_of(units, unit);
  }
};

/// Where a unit of a token lies in memory that is no Lamport memory: in its payload's data, and in the payload's
/// region. Worked out once for all rows.
struct located_unit {
  const std::byte* in = nullptr;  ///< of row 0
  std::uint64_t out = 0;          ///< offset, of row 0
  std::uint32_t row_bytes = 0;
  std::uint32_t bytes = 0;  ///< of the row's that it holds, past which it is zeros; 0: the row has no such unit

  /// Whether units are moved whole: every row begins where 16 bytes are aligned.
  [[nodiscard]] constexpr bool wide() const { return row_bytes % layout::unit_bytes == 0; }
  [[nodiscard]] constexpr const std::byte* of_row(std::uint64_t row) const { return in + wide_product(row, row_bytes); }
  [[nodiscard]] constexpr std::byte* at(const row_target& to) const {
    return to.base + out + wide_product(to.row, row_bytes);
  }
};
SWITCHYARD_DEVICE constexpr located_unit locate_in(const payload_source& payload, std::uint32_t begin,
                                                   std::uint32_t unit) {
  const auto offset = (unit - begin) * static_cast<std::uint32_t>(layout::unit_bytes);
  const auto rest = payload.row_bytes - offset;
  return {payload.data + offset, payload.destination + offset, payload.row_bytes,
          rest < layout::unit_bytes ? rest : static_cast<std::uint32_t>(layout::unit_bytes)};
}
SWITCHYARD_DEVICE constexpr located_unit locate(const payload_list& payloads, std::uint32_t unit) {
  // Most units are of the first payload, and what a GPU knows the place of among its parameters is nearer.
  auto begin = payloads.items[0].end_unit;
  if (unit < begin) return locate_in(payloads.items[0], 0, unit);
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 1; i < payloads.count; ++i) {
    const auto& payload = payloads.items[i];
    if (unit < payload.end_unit) return locate_in(payload, begin, unit);
    begin = payload.end_unit;
  }
  return {};
}

/// Stores a unit of payload into a row whose words are armed. [thread]
template <class Block>
SWITCHYARD_DEVICE void send_unit(Block& block, const lamport_row& row, std::uint32_t unit, word_pair payload) {
  const auto words = encoded(payload);
  block.store_words(row.at(unit), words);
  if (has_stand_in(words)) block.store_word(row.exceptions_at(unit), exceptions_of(payload));
}

/// Whether the words of a unit, as they were loaded, and what their stand-ins mean are all here; decodes them then.
/// [thread]
template <class Block>
SWITCHYARD_DEVICE bool has_come(Block& block, const lamport_row& row, std::uint32_t unit, word_pair& words) {
  if (is_armed(words)) return false;
  std::uint64_t exceptions = 0;
  if (has_stand_in(words)) {
    exceptions = block.load_word(row.exceptions_at(unit));
    if (exceptions == armed) return false;
    block.store_word(row.exceptions_at(unit), armed);  // this thread alone looks at it
  }
  words = decoded(words, exceptions);
  return true;
}

/// Re-arms a unit that was taken: exactly what was sent (invariant 3). [thread]
template <class Block>
SWITCHYARD_DEVICE void rearm_unit(Block& block, const lamport_row& row, std::uint32_t unit) {
  block.store_words(row.at(unit), {armed, armed});
}

}  // namespace switchyard::protocol
