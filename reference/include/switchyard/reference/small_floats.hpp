// SPDX-License-Identifier: Apache-2.0
// The small floating-point types of dispatch formats to fp32 and back, defined for every bit pattern. As in
// float_conversion.hpp there are no branches, no tables and no intrinsics, so that GPU code may use them as well.
#pragma once

#include <bit>
#include <cstdint>

#include "switchyard/reference/float_conversion.hpp"

namespace switchyard::reference {

inline constexpr float largest_e4m3 = 448.0F;
inline constexpr float largest_e2m1 = 6.0F;

/// OCP FP8 e4m3: sign, 4 exponent bits of bias 7, 3 fraction bits; no infinities, NaN only with all seven bits set.
/// Exact for every value; NaN becomes 0x7FFFFFFF.
constexpr float e4m3_to_fp32(std::uint8_t code) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80U) << 24;
  const std::uint32_t magnitude = code & 0x7FU;
  // A subnormal counts units of 2^-9; zero is its case 0.
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9F);
  const std::uint32_t normal = (magnitude << 20) + ((127U - 7U) << 23);
  const std::uint32_t finite = sign | select(magnitude < 8, subnormal, normal);
  return std::bit_cast<float>(select(magnitude == 0x7FU, 0x7FFFFFFFU, finite));
}

/// Nearest, ties to even; what would be above 448, and infinities, become +-448 (the saturating mode of OCP FP8);
/// subnormals and the sign of zero kept; NaN becomes 0x7F.
constexpr std::uint8_t fp32_to_e4m3(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Below 2^-6 the result counts units of 2^-9, the last place of an fp32 in [2^14, 2^15): the addition rounds. What is
  // too large for that is looked at as 0, so that nothing here overflows.
  const std::uint32_t small = select(magnitude < std::bit_cast<std::uint32_t>(0x1p-6F), magnitude, 0);
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + 0x1p14F) - std::bit_cast<std::uint32_t>(0x1p14F);
  const std::uint32_t normal = (magnitude - ((127U - 7U) << 23) + 0x7FFFFU + ((magnitude >> 20) & 1U)) >> 20;
  const std::uint32_t rounded = select(magnitude < std::bit_cast<std::uint32_t>(0x1p-6F), subnormal, normal);
  const std::uint32_t finite = select(rounded > 0x7EU, 0x7EU, rounded) | sign;
  return static_cast<std::uint8_t>(select(magnitude > 0x7F800000U, 0x7FU, finite));
}

/// e2m1: sign, 2 exponent bits of bias 1, 1 fraction bit: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. `code`: the
/// low four bits.
constexpr float e2m1_to_fp32(std::uint8_t code) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(code & 8U) << 28;
  const std::uint32_t magnitude = code & 7U;
  const std::uint32_t subnormal = select(magnitude == 0, 0, std::bit_cast<std::uint32_t>(0.5F));
  const std::uint32_t normal = (magnitude << 22) + ((127U - 1U) << 23);
  return std::bit_cast<float>(sign | select(magnitude < 2, subnormal, normal));
}

/// Nearest, ties to even; what would be above 6, infinities too, becomes +-6; the sign of zero is kept. There is no
/// NaN: it becomes +6, as in the conversions of the hardware.
constexpr std::uint8_t fp32_to_e2m1(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 28) & 8U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Below 1 the result counts halves, the last place of an fp32 in [2^22, 2^23).
  const std::uint32_t small = select(magnitude < std::bit_cast<std::uint32_t>(1.0F), magnitude, 0);
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(small) + 0x1p22F) - std::bit_cast<std::uint32_t>(0x1p22F);
  const std::uint32_t normal = (magnitude - ((127U - 1U) << 23) + 0x1FFFFFU + ((magnitude >> 22) & 1U)) >> 22;
  const std::uint32_t rounded = select(magnitude < std::bit_cast<std::uint32_t>(1.0F), subnormal, normal);
  const std::uint32_t finite = select(rounded > 7U, 7U, rounded) | sign;
  return static_cast<std::uint8_t>(select(magnitude > 0x7F800000U, 7U, finite));
}

/// OCP MX e8m0: 2^(code - 127); 0xFF is NaN. Exact: 2^-127 is an fp32 subnormal.
constexpr float e8m0_to_fp32(std::uint8_t code) noexcept {
  const std::uint32_t power = select(code == 0, 0x00400000U, static_cast<std::uint32_t>(code) << 23);
  return std::bit_cast<float>(select(code == 0xFFU, 0x7FFFFFFFU, power));
}

}  // namespace switchyard::reference
