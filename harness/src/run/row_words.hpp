// SPDX-License-Identifier: Apache-2.0
// The laws of generated rows, and any word of any row from (seed, step, rank, token) alone: what a checker on a GPU
// compares with. generator.cpp fills whole rows by the same laws; a test holds one against the other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quantised_row.hpp"
#include "switchyard/harness/case_choices.hpp"
#include "switchyard/harness/generator_random.hpp"
#include "switchyard/spec/dtypes.hpp"

namespace switchyard::harness {

// One row in this many has random bits, NaNs and infinities included; more would make most sums NaN and hide errors.
inline constexpr std::uint64_t special_row_period = 64;

// Below this many elements a row needs all its randomness to be told from others, so no -0 is planted.
inline constexpr std::uint64_t least_elements_for_zero = 32;

// Random words become values by word & keep, then + base: keep holds sign, fraction and some low exponent bits of each
// element, base holds the smallest exponent. No carry leaves an element.
struct element_law {
  std::uint64_t keep = ~std::uint64_t{0};
  std::uint64_t base = 0;
};

constexpr element_law law_of(dtype type) {
  switch (type) {
    case dtype::bf16: return {0x87FF87FF87FF87FFULL, 0x3B803B803B803B80ULL};  // 2^-8 .. 2^8
    case dtype::fp16: return {0x9FFF9FFF9FFF9FFFULL, 0x2C002C002C002C00ULL};  // 2^-4 .. 2^4
    case dtype::fp32: return {0x87FFFFFF87FFFFFFULL, 0x3B8000003B800000ULL};  // 2^-8 .. 2^8
  }
  return {};
}

/// Eight bytes of a row of ones: every element is 1, and so is every scale. `use`: hidden_states or
/// hidden_states_scale; `type`: of rows that are not quantised.
constexpr std::uint64_t word_of_ones(random_use use, dispatch_format format, dtype type) {
  constexpr std::uint64_t fp32_ones = 0x3F8000003F800000ULL;
  constexpr std::uint64_t e4m3_ones = 0x3838383838383838ULL;
  if (use == random_use::hidden_states_scale) {
    if (format == dispatch_format::fp8_block128) return fp32_ones;
    return format == dispatch_format::nvfp4 ? e4m3_ones : 0x7F7F7F7F7F7F7F7FULL;  // e4m3 or e8m0
  }
  if (reference::is_quantised(format)) return reference::is_four_bit(format) ? 0x2222222222222222ULL : e4m3_ones;
  switch (type) {
    case dtype::bf16: return 0x3F803F803F803F80ULL;
    case dtype::fp16: return 0x3C003C003C003C00ULL;
    case dtype::fp32: return fp32_ones;
  }
  return 0;
}

/// One element of random bits as a NaN: all exponent bits set, sign and fraction as they are, but for the fraction of
/// an infinity, whose bits are all set instead.
constexpr std::uint64_t as_nan(std::uint64_t bits, std::uint64_t exponent, std::uint64_t fraction) {
  return bits | ((bits & fraction) == 0 ? exponent | fraction : exponent);
}

/// Eight bytes of a row of hard words, `random` those of a row of random bits. In every third row they come in turn, so
/// that over the tokens each comes to each place; in the others one of the first two stands alone, if the row is long
/// enough.
constexpr std::uint64_t hard_word(std::uint64_t random, std::uint64_t index, std::int64_t token) {
  constexpr std::uint64_t all_ones = ~std::uint64_t{0};
  const auto number = static_cast<std::uint64_t>(token);
  if (number % 3 != 0) {
    if (index != number / 3 % 64) return random;
    return number % 3 == 1 ? all_ones : all_ones - 1;
  }
  switch ((index + number / 3) % 8) {
    case 0: return all_ones;
    case 1: return all_ones - 1;
    case 2: return 0;
    case 3: return 1;
    case 4: return all_ones << 32;
    case 5: return 0x7FFF7FC07F80FF80ULL;  // NaNs and infinities of bf16
    default: return random;
  }
}

/// Of one payload in one step of a case.
struct payload_law {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  random_use use = random_use::hidden_states;  ///< or hidden_states_scale, extra
  hidden_values values = hidden_values::random;
  dtype type = dtype::bf16;  ///< of the elements of rows that are not quantised
  bool rows_are_elements = true;
  std::uint64_t row_bytes = 0;
  dispatch_format format = dispatch_format::bf16;  ///< of rows that have one; the default where they have none
  std::uint64_t hidden_size = 0;                   ///< of quantised rows
};

/// Whether rows of hidden states and scales that are not special are quantised values; else they are random bytes.
constexpr bool has_quantised_rows(hidden_values values, dispatch_format format) {
  return values == hidden_values::random && reference::is_quantised(format);
}

/// A row that `rank` sent.
class row_words {
 public:
  constexpr row_words(const payload_law& of, int rank, std::int64_t token)
      : type_(of.type), quantised_(of.format, of.hidden_size, 0) {
    const auto key = [&](random_use use) {
      return key_of({of.seed, static_cast<std::uint64_t>(use), of.step, static_cast<std::uint64_t>(rank),
                     static_cast<std::uint64_t>(token)});
    };
    key_ = key(of.use);
    if (of.use == random_use::extra) return;
    counter_random mode(key(random_use::row_mode));
    if (has_quantised_rows(of.values, of.format)) {
      if (mode.chance(1, special_row_period)) return;
      quantised_ = quantised_row(of.format, of.hidden_size, key(random_use::hidden_states));
      part_ = of.use == random_use::hidden_states ? part::hidden : part::scales;
      return;
    }
    if (of.values == hidden_values::ones) {
      constant_ = word_of_ones(of.use, of.format, of.type);
      is_constant_ = true;
      return;
    }
    if (of.use != random_use::hidden_states) return;
    if (of.values == hidden_values::nan_rows && token % 4 == 3) {
      nans_ = true;
      return;
    }
    hard_token_ = of.values == hidden_values::hard_words ? token : -1;
    const bool special = mode.chance(1, special_row_period) || of.values == hidden_values::bits || hard_token_ >= 0;
    if (special || !of.rows_are_elements) return;
    law_ = law_of(of.type);
    const auto elements = of.row_bytes / itemsize(of.type);
    if (elements >= least_elements_for_zero) negative_zero_ = mode.below(elements);
  }

  /// Bytes 8 * index and on, the first of them lowest; of the last word as many as the row has.
  [[nodiscard]] constexpr std::uint64_t at(std::uint64_t index) const {
    if (part_ == part::hidden) return quantised_.hidden_word(index);
    if (part_ == part::scales) return quantised_.scale_word(index);
    if (is_constant_) return constant_;
    if (hard_token_ >= 0) return hard_word(word_at(key_, index), index, hard_token_);
    auto word = (word_at(key_, index) & law_.keep) + law_.base;
    const unsigned bits = type_ == dtype::fp32 ? 32 : 16;
    const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
    for (unsigned shift = 0; nans_ && shift < 64; shift += bits) {
      const auto element = word >> shift & mask;
      word = (word & ~(mask << shift)) | nan_of(element) << shift;
    }
    const auto per_word = std::uint64_t{64} / bits;
    if (negative_zero_ != none && negative_zero_ / per_word == index) {
      const auto shift = negative_zero_ % per_word * bits;
      word = (word & ~(mask << shift)) | std::uint64_t{1} << (shift + bits - 1);
    }
    return word;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  [[nodiscard]] constexpr std::uint64_t nan_of(std::uint64_t element) const {
    switch (type_) {
      case dtype::bf16: return as_nan(element, 0x7F80, 0x007F);
      case dtype::fp16: return as_nan(element, 0x7C00, 0x03FF);
      case dtype::fp32: return as_nan(element, 0x7F800000, 0x007FFFFF);
    }
    return element;
  }

  enum class part : std::uint8_t { none, hidden, scales };

  dtype type_;
  quantised_row quantised_;
  part part_ = part::none;  ///< of a quantised row
  std::uint64_t key_ = 0;
  element_law law_;
  std::uint64_t constant_ = 0;
  std::uint64_t negative_zero_ = none;
  std::int64_t hard_token_ = -1;
  bool is_constant_ = false;
  bool nans_ = false;
};

}  // namespace switchyard::harness
