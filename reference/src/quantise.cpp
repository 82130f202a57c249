// SPDX-License-Identifier: Apache-2.0
#include "switchyard/reference/quantise.hpp"

#include <algorithm>
#include <cmath>
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

/// Elements first .. last - 1, not yet scaled. A loop for each width: g++ makes vectors of neither when it is chosen
/// inside.
void load_values(dispatch_format format, const std::byte* row, std::size_t first, std::size_t last, float* values) {
  if (!is_four_bit(format)) {
    for (std::size_t j = first; j < last; ++j) values[j] = e4m3_to_fp32(std::to_integer<std::uint8_t>(row[j]));
    return;
  }
  for (std::size_t j = first; j < last; ++j) {
    const auto both = std::to_integer<unsigned>(row[j / 2]);
    values[j] = e2m1_to_fp32(static_cast<std::uint8_t>(both >> (4 * (j % 2)) & 0xFU));
  }
}

std::uint32_t load_scale_bits(dispatch_format format, const std::byte* scales, std::size_t block) {
  std::uint32_t bits = 0;
  const auto bytes = scale_bytes(format);
  for (std::size_t i = 0; i < bytes; ++i) {
    bits |= std::to_integer<std::uint32_t>(scales[bytes * block + i]) << (8 * i);
  }
  return bits;
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
    const float scale = value_of_scale(format, load_scale_bits(format, scales, block), tensor_scale);
    load_values(format, row, first, last, values.data());
    for (std::size_t j = first; j < last; ++j) values[j] *= scale;
  });
}

}  // namespace switchyard::reference
