// SPDX-License-Identifier: Apache-2.0
// Formats in which expert outputs travel in combine, and the bytes that each one needs per row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "switchyard/spec/dtypes.hpp"

namespace switchyard {

/// How expert outputs are encoded while they travel. e4m3: 1 sign, 4 exponent, 3 fraction bits, bias 7, no infinities,
/// largest magnitude 448 (OCP 8-bit floating point). An element x becomes q, nearest even, and counts as y in the sum:
enum class low_precision : std::uint8_t {
  none,              ///< rows of the output's dtype; y = x
  fp8,               ///< q = e4m3(x), |x| > 448 and infinities as 448 with their sign, NaN as NaN; y = q
  fp8_block_scaled,  ///< per 128 elements of a row, the last ones fewer: scale = amax / 448 in fp32, q = e4m3(x /
                     ///< scale), y = q * scale rounded to fp32. scale is 1 where amax is 0, is not finite, or amax /
                     ///< 448 is 0
};

/// Elements that have a scale together.
inline constexpr std::size_t scaled_block_elements = 128;

/// The word used in scenario files, records and messages.
constexpr std::string_view to_string(low_precision format) noexcept {
  switch (format) {
    case low_precision::none: return "none";
    case low_precision::fp8: return "fp8";
    case low_precision::fp8_block_scaled: return "fp8_block_scaled";
  }
  return "unknown";
}

/// The inverse of to_string; nothing for a word that names no format.
constexpr std::optional<low_precision> low_precision_from_string(std::string_view word) noexcept {
  for (auto format : {low_precision::none, low_precision::fp8, low_precision::fp8_block_scaled}) {
    if (word == to_string(format)) return format;
  }
  return std::nullopt;
}

/// What a row of `hidden_size` elements says in `format`: its elements and their scales, without what transports add.
constexpr std::size_t combine_bytes_of(low_precision format, dtype type, std::size_t hidden_size) noexcept {
  if (format == low_precision::none) return hidden_size * itemsize(type);
  if (format == low_precision::fp8) return hidden_size;
  return hidden_size + sizeof(float) * ((hidden_size + scaled_block_elements - 1) / scaled_block_elements);
}

}  // namespace switchyard
