// SPDX-License-Identifier: Apache-2.0
// Rows of the formats that have scales as a model sends them: bell-shaped values, quantised by the format's own rule.
// Every word of the row and of its scales from a key alone, as row_words.hpp promises; generator.cpp quantises whole
// rows of the same values.
#pragma once

#include <bit>
#include <cstdint>

#include "switchyard/harness/generator_random.hpp"
#include "switchyard/reference/quantise.hpp"
#include "switchyard/spec/formats.hpp"

namespace switchyard::harness {

/// The scale of the whole tensor, which does not travel: of fp8 so that the largest values saturate, of nvfp4 so that
/// block scales are in the middle of what e4m3 has.
constexpr float tensor_scale_of(dispatch_format format) {
  if (format == dispatch_format::fp8) return 0x1p-5F;
  return format == dispatch_format::nvfp4 ? 0x1p-3F : 1.0F;
}

class quantised_row {
 public:
  constexpr quantised_row(dispatch_format format, std::uint64_t hidden_size, std::uint64_t key)
      : format_(format), elements_(hidden_size), key_(key), block_key_(mix64(key)) {}

  /// Element j before it is quantised: the sum of four random numbers, times a power of two that is drawn for each
  /// block, so that scales tell rows apart. One block in 64, but not the first, is all zeros. All operations are exact.
  [[nodiscard]] constexpr float value(std::uint64_t j) const {
    const auto block = j / elements_per_block();
    const auto drawn = word_at(block_key_, block);
    if (block > 0 && (drawn >> 32) % 64 == 0) return 0.0F;
    const auto word = word_at(key_, j);
    std::int32_t sum = -2 * 65535;
    for (unsigned shift = 0; shift < 64; shift += 16) sum += static_cast<std::int32_t>(word >> shift & 0xFFFFU);
    const auto exponents = exponents_of();
    const auto exponent = exponents.least + static_cast<std::int32_t>(drawn % exponents.count) - 16;
    const auto power = std::bit_cast<float>(static_cast<std::uint32_t>(127 + exponent) << 23);
    return static_cast<float>(sum) * power;
  }

  /// Bytes 8 * index and on of the elements, the first of them lowest; 0 past the end.
  [[nodiscard]] constexpr std::uint64_t hidden_word(std::uint64_t index) const {
    const std::uint64_t bits = reference::is_four_bit(format_) ? 4 : 8;
    const auto per_word = 64 / bits;
    const auto first = index * per_word;  // words never straddle a block
    if (first >= elements_) return 0;
    const auto scale = scale_of_block(first / elements_per_block());
    std::uint64_t word = 0;
    for (std::uint64_t i = 0; i < per_word && first + i < elements_; ++i) {
      word |= std::uint64_t{reference::code_of(format_, value(first + i), scale)} << (bits * i);
    }
    return word;
  }
  /// The same of the scales.
  [[nodiscard]] constexpr std::uint64_t scale_word(std::uint64_t index) const {
    const auto bytes = reference::scale_bytes(format_);
    if (bytes == 0) return 0;
    const auto blocks = (elements_ + elements_per_block() - 1) / elements_per_block();
    std::uint64_t word = 0;
    for (std::uint64_t i = 0; i < 8 / bytes && index * (8 / bytes) + i < blocks; ++i) {
      word |= std::uint64_t{scale_of_block(index * (8 / bytes) + i).bits} << (8 * bytes * i);
    }
    return word;
  }

 private:
  struct exponent_range {
    std::int32_t least;
    std::uint64_t count;
  };
  // Of fp8, which has no scales, within what e4m3 has. Else wide enough for scales to tell rows apart, and narrow
  // enough for experts' rows to stay finite in fp16, and for a sum to show each of its rows.
  [[nodiscard]] constexpr exponent_range exponents_of() const {
    switch (format_) {
      case dispatch_format::fp8_block128:
      case dispatch_format::mxfp8:
      case dispatch_format::mxfp4: return {-8, 16};
      case dispatch_format::nvfp4: return {-7, 14};
      case dispatch_format::bf16:
      case dispatch_format::fp16:
      case dispatch_format::fp8: break;
    }
    return {-4, 8};
  }
  [[nodiscard]] constexpr std::uint64_t elements_per_block() const {
    const auto per_scale = reference::elements_per_scale(format_);
    return per_scale == 0 ? 128 : per_scale;
  }
  [[nodiscard]] constexpr reference::block_scale scale_of_block(std::uint64_t block) const {
    std::uint32_t amax = 0;
    const auto last = (block + 1) * elements_per_block();
    for (auto j = block * elements_per_block(); j < last && j < elements_; ++j) {
      amax = reference::larger_magnitude(amax, value(j));
    }
    return reference::scale_of(format_, amax, tensor_scale_of(format_));
  }

  dispatch_format format_;
  std::uint64_t elements_;
  std::uint64_t key_;
  std::uint64_t block_key_;
};

}  // namespace switchyard::harness
