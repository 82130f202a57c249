// SPDX-License-Identifier: Apache-2.0
// How an expert output lies in a combine inbox in low precision: its elements, a byte each, then the scales of its
// blocks of 128.
#pragma once

#include <cstdint>

#include "layout/lamport_row.hpp"
#include "switchyard/spec/low_precision.hpp"

namespace switchyard::layout {

/// Units of 16 elements, which are one unit of 16 bytes, that have a scale together.
inline constexpr std::uint32_t units_of_scale = static_cast<std::uint32_t>(scaled_block_elements / unit_bytes);

constexpr std::uint64_t num_scales(low_precision format, std::uint64_t elements) {
  if (format != low_precision::fp8_block_scaled) return 0;
  return (elements + scaled_block_elements - 1) / scaled_block_elements;
}

/// Behind whole units of elements. Fence: fp32 values.
constexpr std::uint64_t scales_offset(std::uint64_t elements) { return units_of(elements) * unit_bytes; }
/// From one row of a fence inbox to the next.
constexpr std::uint64_t quantised_row_bytes(low_precision format, std::uint64_t elements) {
  return scales_offset(elements) + units_of(num_scales(format, elements) * sizeof(float)) * unit_bytes;
}

}  // namespace switchyard::layout
