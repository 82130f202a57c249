// SPDX-License-Identifier: Apache-2.0
// The words of Lamport memory, each of which says by itself that it has come: 0 is a word that has not ("armed"), and
// no word that is sent is 0. A payload word travels inverted, so that memory that was zeroed is armed; the one whose
// inverse is 0 travels as 1. That is the inverse of another word, so wherever a 1 is sent a word beside the row says
// which of the two it stands for. So every pattern of bits is legal and arrives unchanged, and readiness is a
// comparison of 64 bits with 0, never of floats (invariant 9).
#pragma once

#include <cstdint>

namespace switchyard::protocol {

inline constexpr std::uint64_t armed = 0;
inline constexpr std::uint64_t all_ones = ~std::uint64_t{0};  ///< the payload word whose inverse would read as armed
inline constexpr std::uint64_t stand_in = 1;                  ///< what is sent for it

constexpr std::uint64_t encoded(std::uint64_t payload) { return payload == all_ones ? stand_in : ~payload; }
constexpr std::uint64_t decoded(std::uint64_t word, bool is_exception) { return is_exception ? all_ones : ~word; }

/// A unit of 16 bytes: what a thread of a GPU loads and stores at once. Each word is atomic by itself; the two have no
/// order.
struct alignas(16) word_pair {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  friend constexpr bool operator==(const word_pair&, const word_pair&) = default;
};

constexpr word_pair encoded(word_pair payload) { return {encoded(payload.first), encoded(payload.second)}; }
constexpr bool is_armed(word_pair unit) { return unit.first == armed || unit.second == armed; }
constexpr bool has_stand_in(word_pair unit) { return unit.first == stand_in || unit.second == stand_in; }

/// The word beside a unit that has stand-ins. It is sent, awaited and re-armed only with those.
constexpr std::uint64_t exceptions_of(word_pair payload) {
  return 4U | (payload.first == all_ones ? 1U : 0U) | (payload.second == all_ones ? 2U : 0U);
}
constexpr word_pair decoded(word_pair unit, std::uint64_t exceptions) {
  return {decoded(unit.first, (exceptions & 1U) != 0), decoded(unit.second, (exceptions & 2U) != 0)};
}

}  // namespace switchyard::protocol
