// SPDX-License-Identifier: Apache-2.0
// bf16 and fp16 to fp32 and back, defined for every bit pattern. Written without branches so that loops over them
// vectorise; no table, no intrinsics.
#pragma once

#include <bit>
#include <cfloat>
#include <cstdint>
#include <limits>

namespace switchyard::reference {

static_assert(std::numeric_limits<float>::is_iec559 && FLT_EVAL_METHOD == 0,
              "sums are rounded to binary32 after every operation");

/// `yes` or `no` by masking: where a conditional would become a branch, this stays a straight line.
constexpr std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) noexcept {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// Exact for every value; the bits of a NaN are kept.
constexpr float bf16_to_fp32(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Nearest, ties to even; overflow to infinity; subnormals kept; NaN becomes 0x7FFF.
constexpr std::uint16_t fp32_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  // Half of the last kept place, less one when that place is even, so that a tie carries only out of an odd one.
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(select(is_nan, 0x7FFFU, rounded));
}

/// Exact for every value; the fraction bits of a NaN are kept at the top of the wider fraction.
constexpr float fp16_to_fp32(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  // A subnormal counts units of 2^-24; zero is its case 0.
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(fraction)) * 0x1p-24F);
  const std::uint32_t normal = ((exponent + (127U - 15U)) << 23) | (fraction << 13);
  const std::uint32_t special = 0x7F800000U | (fraction << 13);
  const std::uint32_t finite = select(exponent == 0, subnormal, normal);
  return std::bit_cast<float>(sign | select(exponent == 0x1FU, special, finite));
}

/// Nearest, ties to even; overflow (from 65520 up) to infinity; subnormals kept; NaN becomes 0x7FFF.
constexpr std::uint16_t fp32_to_fp16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Below 2^-14 the result counts units of 2^-24, which is the last place of an fp32 in [0.5, 1): the addition rounds.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t normal = (magnitude - ((127U - 15U) << 23) + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
  const std::uint32_t finite = select(magnitude < std::bit_cast<std::uint32_t>(0x1p-14F), subnormal, normal);
  const std::uint32_t result = select(magnitude >= std::bit_cast<std::uint32_t>(65520.0F), 0x7C00U, finite) | sign;
  return static_cast<std::uint16_t>(select(magnitude > 0x7F800000U, 0x7FFFU, result));
}

/// The bits of `value`; NaN becomes 0x7FFFFFFF.
constexpr std::uint32_t fp32_to_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return select((bits & 0x7FFFFFFFU) > 0x7F800000U, 0x7FFFFFFFU, bits);
}

}  // namespace switchyard::reference
