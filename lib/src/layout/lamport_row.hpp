// SPDX-License-Identifier: Apache-2.0
// How a row lies in Lamport memory: its payloads in units of 16 bytes, then for each unit the word that says what its
// stand-ins stand for (protocol/lamport_words.hpp).
#pragma once

#include <cstdint>

namespace switchyard::layout {

inline constexpr std::uint64_t unit_bytes = 16;  ///< what a thread of a GPU stores and loads at once: two words

/// Each payload begins with a unit of its own; the last one may be filled in part.
constexpr std::uint64_t units_of(std::uint64_t row_bytes) { return (row_bytes + unit_bytes - 1) / unit_bytes; }

/// Where the word about the stand-ins of a unit lies in a row of so many units, in words of 64 bits.
constexpr std::uint64_t exception_word_of(std::uint64_t units, std::uint64_t unit) { return 2 * units + unit; }

/// Bytes that a row of at most so many units has to itself: whole lines, so that what different blocks store does not
/// meet in one.
constexpr std::uint64_t lamport_stride(std::uint64_t units) {
  constexpr std::uint64_t line = 128;
  const auto bytes = 3 * units * sizeof(std::uint64_t);
  return (bytes + line - 1) / line * line;
}

}  // namespace switchyard::layout
