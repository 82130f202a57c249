// SPDX-License-Identifier: Apache-2.0
// The arithmetic of combine on one element: conversions to and from fp32 with one rounding, canonical NaNs. Plain
// integer code, so that it is the same on every machine and compilers can vectorise the loops over it.
#pragma once

#include <bit>
#include <cstdint>

#include "layout/device_code.hpp"
#include "switchyard/spec/dtypes.hpp"

namespace switchyard::protocol {

inline constexpr std::uint16_t canonical_nan_16 = 0x7FFF;
inline constexpr std::uint32_t canonical_nan_32 = 0x7FFFFFFF;

struct bf16_element {
  using bits = std::uint16_t;
  static constexpr float load(bits value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }
  /// Nearest even; overflow becomes infinity by the carry; NaN is canonical.
  static constexpr bits store(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto rounded = (word + 0x7FFFU + ((word >> 16) & 1U)) >> 16;
    const bool nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    return static_cast<bits>(nan ? canonical_nan_16 : rounded);
  }
};

struct fp32_element {
  using bits = std::uint32_t;
  static constexpr float load(bits value) { return std::bit_cast<float>(value); }
  static constexpr bits store(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    return (word & 0x7FFFFFFFU) > 0x7F800000U ? canonical_nan_32 : word;
  }
};

struct fp16_element {
  using bits = std::uint16_t;
  static constexpr float load(bits value) {
    const std::uint32_t sign = static_cast<std::uint32_t>(value & 0x8000U) << 16;
    const std::uint32_t magnitude = value & 0x7FFFU;
    if (magnitude >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
    if (magnitude >= 0x0400U) return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
    // Subnormal or zero: an integer number of 2^-24, exact in fp32.
    const float scaled = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
  }
  static constexpr bits store(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint32_t>(word >> 16 & 0x8000U);
    const auto magnitude = word & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return canonical_nan_16;
    if (magnitude >= 0x47800000U) return static_cast<bits>(sign | 0x7C00U);  // 2^16 and up, infinity included
    if (magnitude >= 0x38800000U) {  // 2^-14 and up: normal; rounding may carry into infinity
      const auto rounded = magnitude + 0xFFFU + (magnitude >> 13 & 1U);
      return static_cast<bits>(sign | ((rounded - (112U << 23)) >> 13));
    }
    if (magnitude < 0x33000000U) return static_cast<bits>(sign);  // below half of 2^-24
    const auto exponent = magnitude >> 23;
    const auto mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
    const auto shift = 126U - exponent;  // 2^-24 is the unit of the result
    const auto kept = mantissa >> shift;
    const auto rest = mantissa & ((1U << shift) - 1U);
    const auto half = 1U << (shift - 1U);
    const auto up = rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U;
    return static_cast<bits>(sign | (kept + up));
  }
};

/// Calls `callable` with the element type of `type`.
template <class Callable>
SWITCHYARD_DEVICE constexpr decltype(auto) with_element(dtype type, Callable callable) {
  switch (type) {
    case dtype::fp16: return callable(fp16_element{});
    case dtype::fp32: return callable(fp32_element{});
    case dtype::bf16: break;
  }
  return callable(bf16_element{});
}

}  // namespace switchyard::protocol
