// SPDX-License-Identifier: Apache-2.0
// What a model does to hidden states before it dispatches them: fp32 values to the rows and scales of a format, and
// back. The formats' own rules, one block at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "switchyard/reference/small_floats.hpp"
#include "switchyard/spec/formats.hpp"

namespace switchyard::reference {

/// Whether rows of `format` are quantised: elements of 8 or 4 bits under scales.
constexpr bool is_quantised(dispatch_format format) noexcept {
  return format != dispatch_format::bf16 && format != dispatch_format::fp16;
}

/// Whether an element has 4 bits: element j is in byte j / 2, of an even j in the low half; of an odd number of
/// elements the last half byte is 0.
constexpr bool is_four_bit(dispatch_format format) noexcept {
  return format == dispatch_format::nvfp4 || format == dispatch_format::mxfp4;
}

/// Elements under one scale that travels; the last block of a row may have fewer. 0: no scale travels.
constexpr std::size_t elements_per_scale(dispatch_format format) noexcept {
  switch (format) {
    case dispatch_format::fp8_block128: return 128;
    case dispatch_format::mxfp8:
    case dispatch_format::mxfp4: return 32;
    case dispatch_format::nvfp4: return 16;
    case dispatch_format::bf16:
    case dispatch_format::fp16:
    case dispatch_format::fp8: break;
  }
  return 0;
}

/// Bytes of one scale.
constexpr std::size_t scale_bytes(dispatch_format format) noexcept {
  if (elements_per_scale(format) == 0) return 0;
  return format == dispatch_format::fp8_block128 ? 4 : 1;
}

/// The scale of a block.
struct block_scale {
  std::uint32_t bits = 0;  ///< as it travels: the low scale_bytes(format) bytes
  float divisor = 1;       ///< what elements are divided by; 0 or NaN: every element of the block is +0
};

/// The larger magnitude of two, as bits of an fp32: a NaN is above infinity, and that above every number.
constexpr std::uint32_t larger_magnitude(std::uint32_t magnitude, float value) noexcept {
  const std::uint32_t other = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
  return select(other > magnitude, other, magnitude);
}

/// The scale of a block whose largest magnitude, by larger_magnitude, is `amax_bits`.
///
/// fp8: tensor_scale, of which nothing travels.
/// fp8_block128: the fp32 amax / 448, as DeepSeek-V3 has it; 1 where that is 0 or amax is not finite. In a block with a
///   NaN or an infinity, finite elements are thus cast as they are: those above 448 saturate, as infinities do, and
///   those too small for e4m3 are zeros. NaNs stay NaN.
/// mxfp8, mxfp4: e8m0, OCP MX 1.0 section 6.3: the largest power of two that is at most amax, divided by that of the
///   element type (2^8 of e4m3, 2^2 of e2m1), so it is rounded down and large elements may saturate; at least 2^-127,
///   which a block of zeros has too. A block with a NaN or an infinity, which the standard leaves open, has the scale
///   NaN, by which all of it is NaN.
/// nvfp4: e4m3, nearest even, of (amax / 6) / tensor_scale, at most 448; tensor_scale is the second, fp32 level of
///   NVIDIA's format, which does not travel. A block with a NaN or an infinity has the scale NaN.
constexpr block_scale scale_of(dispatch_format format, std::uint32_t amax_bits, float tensor_scale) noexcept {
  const bool finite = amax_bits < 0x7F800000U;
  const auto amax = std::bit_cast<float>(amax_bits);
  switch (format) {
    case dispatch_format::bf16:
    case dispatch_format::fp16: break;
    case dispatch_format::fp8: return {0, tensor_scale};
    case dispatch_format::fp8_block128: {
      const float scale = finite ? amax / largest_e4m3 : 0.0F;
      const float used = scale == 0.0F ? 1.0F : scale;
      return {std::bit_cast<std::uint32_t>(used), used};
    }
    case dispatch_format::mxfp8:
    case dispatch_format::mxfp4: {
      const std::uint32_t largest_exponent = format == dispatch_format::mxfp8 ? 8 : 2;
      const std::uint32_t exponent = amax_bits >> 23;  // biased by 127, as e8m0 is; of a subnormal 0
      const std::uint32_t code = exponent > largest_exponent ? exponent - largest_exponent : 0;
      const auto used = static_cast<std::uint8_t>(finite ? code : 0xFFU);
      return {used, e8m0_to_fp32(used)};
    }
    case dispatch_format::nvfp4: {
      const auto code = finite ? fp32_to_e4m3(amax / largest_e2m1 / tensor_scale) : std::uint8_t{0x7F};
      return {code, e4m3_to_fp32(code) * tensor_scale};
    }
  }
  return {};
}

/// The code of an element: e4m3 or e2m1 of value / divisor, rounded to fp32 and then to nearest even, saturating.
constexpr std::uint8_t code_of(dispatch_format format, float value, const block_scale& scale) noexcept {
  if (!(scale.divisor > 0.0F)) return 0;
  const float quotient = value / scale.divisor;
  return is_four_bit(format) ? fp32_to_e2m1(quotient) : fp32_to_e4m3(quotient);
}

/// What an element counts as before it is scaled: e4m3, or the low four bits as e2m1.
constexpr float value_of_code(dispatch_format format, std::uint8_t code) noexcept {
  return is_four_bit(format) ? e2m1_to_fp32(code) : e4m3_to_fp32(code);
}

/// What the elements of a block are multiplied by. `bits`: its scale as it travels, see block_scale; ignored where none
/// does. nvfp4: the block's scale times tensor_scale, rounded to fp32.
constexpr float value_of_scale(dispatch_format format, std::uint32_t bits, float tensor_scale) noexcept {
  switch (format) {
    case dispatch_format::bf16:
    case dispatch_format::fp16: break;
    case dispatch_format::fp8: return tensor_scale;
    case dispatch_format::fp8_block128: return std::bit_cast<float>(bits);
    case dispatch_format::mxfp8:
    case dispatch_format::mxfp4: return e8m0_to_fp32(static_cast<std::uint8_t>(bits));
    case dispatch_format::nvfp4: return e4m3_to_fp32(static_cast<std::uint8_t>(bits)) * tensor_scale;
  }
  return 1;
}

/// Quantises a row of values.size() elements. `row` and `scales` have room for bytes_of(format, values.size()); scales
/// may be null where none travel. tensor_scale: finite and above 0; of fp8 and nvfp4 only. Throws
/// switchyard::invalid_argument for a format that is not quantised, no elements, a null pointer or a tensor_scale that
/// breaks its rule.
void quantise_row(dispatch_format format, std::span<const float> values, float tensor_scale, std::byte* row,
                  std::byte* scales);

/// The values that a quantised row stands for: element times scale (times tensor_scale), each product rounded to fp32.
/// Throws as quantise_row.
void dequantise_row(dispatch_format format, const std::byte* row, const std::byte* scales, float tensor_scale,
                    std::span<float> values);

}  // namespace switchyard::reference
