// SPDX-License-Identifier: Apache-2.0
// How a row lies in Lamport memory: its payloads in units of 16 bytes, then a trailer, then room for the list of words
// that stand for what no word can hold (protocol/lamport_words.hpp).
#pragma once

#include <cstdint>

namespace switchyard::layout {

inline constexpr std::uint64_t unit_bytes = 16;  ///< what a thread of a GPU stores and loads at once: two words
inline constexpr std::uint64_t units_per_exception_word = 16;

/// Each payload begins with a unit of its own; the last one may be filled in part.
constexpr std::uint64_t units_of(std::uint64_t row_bytes) { return (row_bytes + unit_bytes - 1) / unit_bytes; }

/// Positions within a row of so many units, in words of 64 bits.
constexpr std::uint64_t trailer_word(std::uint64_t units) { return 2 * units; }
constexpr std::uint64_t exceptions_word(std::uint64_t units) { return 2 * units + 2; }
constexpr std::uint64_t exception_words(std::uint64_t units) {
  return (units + units_per_exception_word - 1) / units_per_exception_word;
}

/// Bytes that a row of at most so many units has to itself: whole lines, so that what different blocks store does not
/// meet in one.
constexpr std::uint64_t lamport_stride(std::uint64_t units) {
  constexpr std::uint64_t line = 128;
  const auto bytes = (exceptions_word(units) + exception_words(units)) * sizeof(std::uint64_t);
  return (bytes + line - 1) / line * line;
}

}  // namespace switchyard::layout
