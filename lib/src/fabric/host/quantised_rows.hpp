// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a low-precision combine on rows, by one CPU thread: whole blocks of 128 elements at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/quantised_rows.hpp"

namespace switchyard::host {

/// A range of a row's blocks of 128 elements, the last of which may be shorter.
struct block_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};
constexpr std::uint32_t blocks_of(const protocol::quantised_shape& shape) {
  return (shape.units() + layout::units_of_scale - 1) / layout::units_of_scale;
}

/// Quantises blocks of a row that is as it is into a quantised row, with their scales where the format has some.
void quantise_blocks(std::byte* out, const std::byte* in, const protocol::quantised_shape& shape, block_range blocks);

/// A row of a sum: quantised, or as it is.
struct summed_row {
  const std::byte* data = nullptr;
  bool is_plain = false;
};
/// Sums blocks of rows, in order, into a row that is as it is; +0 without rows.
void sum_blocks(std::byte* out, const summed_row* rows, std::uint32_t num_rows, const protocol::quantised_shape& shape,
                block_range blocks);

/// A unit of a row that is as it is, zeros past its end.
protocol::quantised_unit quantise_unit(const std::byte* row, std::uint32_t unit,
                                       const protocol::quantised_shape& shape);

using quantised_sum = std::array<float, layout::unit_bytes>;
void add_quantised(quantised_sum& sum, const protocol::quantised_unit& unit, bool first);
void store_quantised_sum(std::byte* out, std::uint32_t unit, const quantised_sum& sum,
                         const protocol::quantised_shape& shape);

}  // namespace switchyard::host
