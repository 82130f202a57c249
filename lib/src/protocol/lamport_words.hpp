// SPDX-License-Identifier: Apache-2.0
// The words of Lamport memory, each of which says by itself that it has come: 0 is a word that has not ("armed"), and
// no word that is sent is 0. A payload word travels inverted, so that memory that was zeroed is armed; the one whose
// inverse is 0 travels as 1 and is listed behind the row as an exception. So every pattern of bits is legal and arrives
// unchanged, and readiness is a comparison of 64 bits with 0, never of floats (invariant 9).
#pragma once

#include <cstdint>

namespace switchyard::protocol {

inline constexpr std::uint64_t armed = 0;
inline constexpr std::uint64_t all_ones = ~std::uint64_t{0};  ///< the payload word whose inverse would read as armed
inline constexpr std::uint64_t stand_in = 1;                  ///< what is sent for it; also the inverse of another word

constexpr std::uint64_t encoded(std::uint64_t payload) { return payload == all_ones ? stand_in : ~payload; }
constexpr std::uint64_t decoded(std::uint64_t word, bool is_exception) { return is_exception ? all_ones : ~word; }

/// The word behind a row's units. `slot`: the number of this copy among its token's distinct ranks, in slot order.
constexpr std::uint64_t trailer_of(std::uint32_t slot, bool has_exceptions) {
  return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(has_exceptions) << 32 | slot;
}
constexpr std::uint32_t slot_of(std::uint64_t trailer) { return static_cast<std::uint32_t>(trailer); }
constexpr bool has_exceptions(std::uint64_t trailer) { return (trailer >> 32 & 1U) != 0; }

/// A word of the list of exceptions: bit i speaks of word 32 * k + i of the row. Sent, awaited and re-armed only where
/// the trailer says so.
constexpr std::uint64_t exception_word(std::uint32_t bits) { return std::uint64_t{1} << 32 | bits; }
constexpr std::uint32_t exception_bits(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

/// Bits of a unit's words in the list: bit 0 the first, bit 1 the second.
constexpr std::uint32_t exceptions_in(std::uint64_t first, std::uint64_t second) {
  return (first == all_ones ? 1U : 0U) | (second == all_ones ? 2U : 0U);
}

}  // namespace switchyard::protocol
