// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a low-precision combine on one element: e4m3 and back, and the scale of a block. Plain integer
// code, so that it is the same on every machine; source: OCP 8-bit Floating Point Specification 1.0, section 5.
#pragma once

#include <bit>
#include <cstdint>

namespace switchyard::protocol {

inline constexpr float largest_e4m3 = 448.0F;
inline constexpr std::uint8_t nan_e4m3 = 0x7F;  ///< the other one, 0xFF, is read as NaN and never written
inline constexpr std::uint32_t infinity_bits = 0x7F800000U;

/// Nearest even, subnormals kept, the sign of zeros too; larger magnitudes than 448, infinity included, become 448.
constexpr std::uint8_t to_e4m3(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = word >> 24 & 0x80U;
  const auto magnitude = word & 0x7FFFFFFFU;
  if (magnitude > infinity_bits) return nan_e4m3;
  if (magnitude >= std::bit_cast<std::uint32_t>(largest_e4m3)) return static_cast<std::uint8_t>(sign | 0x7EU);
  if (magnitude >= 0x3C800000U) {  // 2^-6 and up: normal
    const auto rounded = magnitude + 0x7FFFFU + (magnitude >> 20 & 1U);
    return static_cast<std::uint8_t>(sign | ((rounded - (120U << 23)) >> 20));
  }
  if (magnitude < 0x3A800000U) return static_cast<std::uint8_t>(sign);  // below half of 2^-9
  // The unit of the result is 2^-9; what is exactly half of it has an even neighbour in 0.
  const auto exponent = magnitude >> 23;
  const auto mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const auto shift = 141U - exponent;
  const auto kept = mantissa >> shift;
  const auto rest = mantissa & ((1U << shift) - 1U);
  const auto half = 1U << (shift - 1U);
  const auto up = rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U;
  return static_cast<std::uint8_t>(sign | (kept + up));
}

/// Exact.
constexpr float from_e4m3(std::uint8_t value) {
  const auto sign = static_cast<std::uint32_t>(value & 0x80U) << 24;
  const auto magnitude = static_cast<std::uint32_t>(value & 0x7FU);
  if (magnitude == 0x7FU) return std::bit_cast<float>(sign | 0x7FC00000U);
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120U << 23)));
  const float scaled = static_cast<float>(magnitude) * 0x1p-9F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

/// The scale of a block by the largest of its elements' magnitudes, as bits of fp32 compare: those of infinities and
/// NaNs are above all others'. A quotient of 0 would make NaNs of the block's zeros, so there the scale is 1 as well.
constexpr float scale_of(std::uint32_t largest_bits) {
  if (largest_bits == 0 || largest_bits >= infinity_bits) return 1.0F;
  const float scale = std::bit_cast<float>(largest_bits) / largest_e4m3;
  return scale == 0.0F ? 1.0F : scale;
}

}  // namespace switchyard::protocol
