// SPDX-License-Identifier: Apache-2.0
// Random numbers that are a function of coordinates, not of history: any row of any step can be made again alone.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

namespace switchyard::harness {

/// A bijection of 64-bit words whose output bits each depend on every input bit: the finaliser of SplitMix64.
constexpr std::uint64_t mix64(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

/// 2^64 divided by the golden ratio, odd: steps of this size visit every 64-bit word before one repeats.
inline constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15ULL;

/// One key for a list of coordinates; order matters.
constexpr std::uint64_t key_of(std::initializer_list<std::uint64_t> coordinates) noexcept {
  std::uint64_t key = golden_gamma;
  for (const std::uint64_t coordinate : coordinates) key = mix64(key + golden_gamma) ^ mix64(coordinate + golden_gamma);
  return mix64(key);
}

/// Word `index` of the sequence that belongs to `key`.
constexpr std::uint64_t word_at(std::uint64_t key, std::uint64_t index) noexcept {
  return mix64(key + (index + 1) * golden_gamma);
}

/// The sequence of a key, read one by one.
class counter_random {
 public:
  explicit constexpr counter_random(std::uint64_t key) noexcept : key_(key) {}

  constexpr std::uint64_t next() noexcept { return word_at(key_, index_++); }

  /// Uniform in [0, bound), without bias. Precondition: 1 <= bound < 2^32.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    constexpr std::uint64_t low_half = 0xFFFFFFFFULL;
    const std::uint64_t uneven = ((low_half + 1) - bound) % bound;  // values of the low half that would be drawn twice
    for (;;) {
      const std::uint64_t product = (next() >> 32) * bound;
      if ((product & low_half) >= uneven) return product >> 32;
    }
  }

  /// Uniform in [0, bound), without bias, for bounds that need not fit in 32 bits. Precondition: bound >= 1.
  constexpr std::uint64_t below_wide(std::uint64_t bound) noexcept {
    const std::uint64_t mask = bound == 1 ? 0 : ~std::uint64_t{0} >> std::countl_zero(bound - 1);
    for (;;) {  // as many bits as bound - 1 has: more than half of the draws are below the bound
      const std::uint64_t drawn = next() & mask;
      if (drawn < bound) return drawn;
    }
  }

  /// True in `numerator` of `denominator` cases.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) noexcept {
    return below(denominator) < numerator;
  }

 private:
  std::uint64_t key_;
  std::uint64_t index_ = 0;
};

/// What a key is drawn for, so that no two uses share a sequence.
enum class random_use : std::uint64_t {
  plan = 1,
  permutation,
  topk_ids,
  invalid_ids,
  topk_weights,
  hidden_states,
  hidden_states_scale,
  extra,
  row_mode,
  lateness,
  popularity,
  duplicates,
  empty_ranks,
  runtime_max_tokens,
};

}  // namespace switchyard::harness
