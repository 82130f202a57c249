// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/quantised_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "protocol/e4m3.hpp"
#include "protocol/ordered_sum.hpp"

namespace switchyard::host {
namespace {

using protocol::quantised_shape;

constexpr std::uint32_t block_elements = scaled_block_elements;
using block_values = std::array<float, block_elements>;

/// Elements of a block.
std::uint32_t elements_of(const quantised_shape& shape, std::uint32_t block) {
  const auto first = block * block_elements;
  return first < shape.elements ? std::min(block_elements, shape.elements - first) : 0;
}

void load_block(block_values& values, const std::byte* row, const quantised_shape& shape, std::uint32_t block) {
  const auto count = elements_of(shape, block);
  protocol::with_element(shape.type, [&](auto element) {
    std::array<typename decltype(element)::bits, block_elements> bits;
    const auto bytes = sizeof(bits[0]);
    std::memcpy(bits.data(), row + std::uint64_t{block} * block_elements * bytes, count * bytes);
    for (std::uint32_t i = 0; i < count; ++i) values[i] = element.load(bits[i]);
  });
}

void store_elements(std::byte* row, const float* values, std::uint32_t first, std::uint32_t count,
                    const quantised_shape& shape) {
  protocol::with_element(shape.type, [&](auto element) {
    std::array<typename decltype(element)::bits, block_elements> bits;
    for (std::uint32_t i = 0; i < count; ++i) bits[i] = element.store(values[i]);
    std::memcpy(row + std::uint64_t{first} * sizeof(bits[0]), bits.data(), count * sizeof(bits[0]));
  });
}

struct quantised_block {
  std::array<std::uint8_t, block_elements> elements{};
  float scale = 1.0F;
};

quantised_block quantise(const block_values& values, std::uint32_t count, bool scaled) {
  quantised_block block;
  if (scaled) {
    std::uint32_t largest = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      largest = std::max(largest, std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFFU);
    }
    block.scale = protocol::scale_of(largest);
  }
  for (std::uint32_t i = 0; i < count; ++i) block.elements[i] = protocol::to_e4m3(values[i] / block.scale);
  return block;
}

/// Whole units: zeros past the end of the row.
std::uint32_t bytes_of_units(std::uint32_t count) {
  return static_cast<std::uint32_t>(layout::units_of(count) * layout::unit_bytes);
}

}  // namespace

void quantise_blocks(std::byte* out, const std::byte* in, const quantised_shape& shape, block_range blocks) {
  block_values values;
  for (auto block = blocks.first; block < blocks.last; ++block) {
    const auto count = elements_of(shape, block);
    load_block(values, in, shape, block);
    const auto quantised = quantise(values, count, shape.has_scales());
    std::memcpy(out + std::uint64_t{block} * block_elements, quantised.elements.data(), bytes_of_units(count));
    if (!shape.has_scales()) continue;
    std::memcpy(out + layout::scales_offset(shape.elements) + block * sizeof(float), &quantised.scale, sizeof(float));
  }
}

void sum_blocks(std::byte* out, const summed_row* rows, std::uint32_t num_rows, const quantised_shape& shape,
                block_range blocks) {
  block_values values;
  for (auto block = blocks.first; block < blocks.last; ++block) {
    const auto count = elements_of(shape, block);
    block_values sum{};
    for (std::uint32_t row = 0; row < num_rows; ++row) {
      quantised_block quantised;
      if (rows[row].is_plain) {
        load_block(values, rows[row].data, shape, block);
        quantised = quantise(values, count, shape.has_scales());
      } else {
        std::memcpy(quantised.elements.data(), rows[row].data + std::uint64_t{block} * block_elements, count);
        if (shape.has_scales()) {
          std::memcpy(&quantised.scale, rows[row].data + layout::scales_offset(shape.elements) + block * sizeof(float),
                      sizeof(float));
        }
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        const float value = protocol::from_e4m3(quantised.elements[i]) * quantised.scale;
        sum[i] = row == 0 ? value : sum[i] + value;
      }
    }
    store_elements(out, sum.data(), block * block_elements, count, shape);
  }
}

protocol::quantised_unit quantise_unit(const std::byte* row, std::uint32_t unit, const quantised_shape& shape) {
  if (unit >= shape.units()) return {};
  const auto block = unit / layout::units_of_scale;
  block_values values;
  load_block(values, row, shape, block);
  const auto quantised = quantise(values, elements_of(shape, block), shape.has_scales());
  protocol::quantised_unit result;
  std::memcpy(&result.words, quantised.elements.data() + unit % layout::units_of_scale * layout::unit_bytes,
              sizeof(result.words));
  result.scale = quantised.scale;
  return result;
}

void add_quantised(quantised_sum& sum, const protocol::quantised_unit& unit, bool first) {
  std::array<std::uint8_t, layout::unit_bytes> elements;
  std::memcpy(elements.data(), &unit.words, sizeof(elements));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const float value = protocol::from_e4m3(elements[i]) * unit.scale;
    sum[i] = first ? value : sum[i] + value;
  }
}

void store_quantised_sum(std::byte* out, std::uint32_t unit, const quantised_sum& sum, const quantised_shape& shape) {
  const auto first = unit * static_cast<std::uint32_t>(layout::unit_bytes);
  const auto count = std::min(static_cast<std::uint32_t>(layout::unit_bytes), shape.elements - first);
  store_elements(out, sum.data(), first, count, shape);
}

}  // namespace switchyard::host
