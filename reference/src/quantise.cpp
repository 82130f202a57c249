// SPDX-License-Identifier: Apache-2.0
#include "switchyard/reference/quantise.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

void check(dispatch_format format, std::size_t elements, float tensor_scale, const std::byte* row,
           const std::byte* scales) {
  const auto fail = [](const std::string& message) { throw invalid_argument("quantise: " + message); };
  if (!is_quantised(format)) fail("format is " + std::string(to_string(format)) + ", must be one with scales");
  if (elements == 0) fail("values has 0 elements, must have at least 1");
  if (row == nullptr) fail("row is null, must point to the elements");
  if (scales == nullptr && elements_per_scale(format) != 0) fail("scales is null, must point to the scales");
  if (!std::isfinite(tensor_scale) || tensor_scale <= 0) {
    fail("tensor_scale is " + std::to_string(tensor_scale) + ", must be finite and above 0");
  }
}

/// Calls visit(block, first, last) for the blocks of a row; a row without scales is one block.
template <typename Visit>
void for_each_block(dispatch_format format, std::size_t elements, Visit visit) {
  const std::size_t per_scale = elements_per_scale(format) == 0 ? elements : elements_per_scale(format);
  for (std::size_t block = 0; block * per_scale < elements; ++block) {
    visit(block, block * per_scale, std::min(elements, (block + 1) * per_scale));
  }
}

void store_code(dispatch_format format, std::byte* row, std::size_t element, std::uint8_t code) {
  if (!is_four_bit(format)) {
    row[element] = std::byte{code};
  } else if (element % 2 == 0) {
    row[element / 2] = std::byte{code};  // the high half follows, or stays 0
  } else {
    row[element / 2] |= std::byte(code << 4U);
  }
}

float load_value(dispatch_format format, const std::byte* row, std::size_t element) {
  if (!is_four_bit(format)) return e4m3_to_fp32(std::to_integer<std::uint8_t>(row[element]));
  const auto both = std::to_integer<unsigned>(row[element / 2]);
  return e2m1_to_fp32(static_cast<std::uint8_t>(element % 2 == 0 ? both & 0xFU : both >> 4U));
}

/// What the codes of a block are multiplied by.
float load_scale(dispatch_format format, const std::byte* scales, std::size_t block, float tensor_scale) {
  switch (format) {
    case dispatch_format::bf16:
    case dispatch_format::fp16: break;
    case dispatch_format::fp8: return tensor_scale;
    case dispatch_format::fp8_block128: {
      float scale = 0;
      std::memcpy(&scale, scales + 4 * block, sizeof scale);
      return scale;
    }
    case dispatch_format::mxfp8:
    case dispatch_format::mxfp4: return e8m0_to_fp32(std::to_integer<std::uint8_t>(scales[block]));
    case dispatch_format::nvfp4: return e4m3_to_fp32(std::to_integer<std::uint8_t>(scales[block])) * tensor_scale;
  }
  return 1;
}

}  // namespace

void quantise_row(dispatch_format format, std::span<const float> values, float tensor_scale, std::byte* row,
                  std::byte* scales) {
  check(format, values.size(), tensor_scale, row, scales);
  for_each_block(format, values.size(), [&](std::size_t block, std::size_t first, std::size_t last) {
    std::uint32_t amax = 0;
    for (std::size_t j = first; j < last; ++j) amax = larger_magnitude(amax, values[j]);
    const auto scale = scale_of(format, amax, tensor_scale);
    const auto bytes = scale_bytes(format);
    for (std::size_t i = 0; i < bytes; ++i) scales[bytes * block + i] = std::byte(scale.bits >> (8 * i) & 0xFFU);
    for (std::size_t j = first; j < last; ++j) store_code(format, row, j, code_of(format, values[j], scale));
  });
}

void dequantise_row(dispatch_format format, const std::byte* row, const std::byte* scales, float tensor_scale,
                    std::span<float> values) {
  check(format, values.size(), tensor_scale, row, scales);
  for_each_block(format, values.size(), [&](std::size_t block, std::size_t first, std::size_t last) {
    const float scale = load_scale(format, scales, block, tensor_scale);
    for (std::size_t j = first; j < last; ++j) values[j] = load_value(format, row, j) * scale;
  });
}

}  // namespace switchyard::reference
