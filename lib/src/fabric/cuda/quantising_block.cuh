// SPDX-License-Identifier: Apache-2.0
// The block of the CUDA fabric for workspaces that combine in low precision: a type of its own, so that usual kernels
// have none of its code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/cuda/cuda_block.cuh"
#include "fabric/cuda/quantised_units.cuh"

namespace switchyard::cuda {

/// A CTA as any other, with rank masks or without. The threads that have a row together are whole warps, and begin with
/// a unit whose number divides by 8: so each block of 128 elements has eight lanes of one warp. Every thread goes as
/// often round a loop over units as its neighbours, because these settle their scale together.
template <std::uint32_t block_threads>
class quantising_block : public cuda_block<block_threads> {
 public:
  using cuda_block<block_threads>::cuda_block;

  /// By stores, in narrow blocks too: what the engine for bulk copies could move is made in registers.
  __device__ void put_quantised(std::byte* out, const std::byte* in, const protocol::quantised_shape& shape) {
    const auto part = this->part();
    const auto units = shape.units();
    auto* scales = reinterpret_cast<float*>(out + layout::scales_offset(shape.elements));
    SWITCHYARD_ROLLED
    for (std::uint32_t base = 0; base < units; base += part.count) {
      const auto unit = base + part.index;
      const auto held = quantise_values(in, unit, shape);
      if (unit >= units) continue;
      reinterpret_cast<ulonglong2*>(out)[unit] = {held.words.first, held.words.second};
      if (shape.has_scales() && unit % layout::units_of_scale == 0) scales[unit / layout::units_of_scale] = held.scale;
    }
  }

  template <class RowAt, class IsOwn>
  __device__ void sum_quantised(std::byte* out, std::uint32_t num_rows, const RowAt& row_at, const IsOwn& is_own,
                                const protocol::quantised_shape& shape) {
    const auto part = this->part();
    const auto units = shape.units();
    SWITCHYARD_ROLLED
    for (std::uint32_t base = 0; base < units; base += part.count) {
      const auto unit = base + part.index;
      // A token has at most one row of this rank's own: before there are sums to keep.
      protocol::quantised_unit own;
      SWITCHYARD_ROLLED
      for (std::uint32_t row = 0; row < num_rows; ++row) {
        if (is_own(row)) own = quantise_values(row_at(row), unit, shape);
      }
      const auto unit_of = [&](std::uint32_t row) {
        return is_own(row) ? own : returned_unit(row_at(row), unit, shape);
      };
      unit_values sum{};  // exact +0 without rows
      protocol::quantised_unit held;
      if (num_rows > 0) held = unit_of(0);
      SWITCHYARD_ROLLED
      for (std::uint32_t row = 0; row < num_rows; ++row) {
        protocol::quantised_unit next;  // under way while the one before is added
        if (row + 1 < num_rows) next = unit_of(row + 1);
        add_to_values(sum, held, row == 0);
        held = next;
      }
      if (unit < units) store_values(out, unit, sum, shape);
    }
  }

  using quantised_sum = unit_values;
  __device__ static protocol::quantised_unit quantise_unit(const std::byte* row, std::uint32_t unit,
                                                           const protocol::quantised_shape& shape) {
    return quantise_values(row, unit, shape);
  }
  __device__ static void add_quantised(quantised_sum& sum, const protocol::quantised_unit& unit, bool first) {
    add_to_values(sum, unit, first);
  }
  __device__ static void store_quantised_sum(std::byte* out, std::uint32_t unit, const quantised_sum& sum,
                                             const protocol::quantised_shape& shape) {
    store_values(out, unit, sum, shape);
  }

 private:
  /// Of a row of the inbox.
  __device__ static protocol::quantised_unit returned_unit(const std::byte* row, std::uint32_t unit,
                                                           const protocol::quantised_shape& shape) {
    protocol::quantised_unit held;
    if (unit >= shape.units()) return held;
    const auto words = __ldcg(reinterpret_cast<const ulonglong2*>(row) + unit);
    held.words = {words.x, words.y};
    if (shape.has_scales()) {
      const auto* scales = reinterpret_cast<const float*>(row + layout::scales_offset(shape.elements));
      held.scale = __ldcg(scales + unit / layout::units_of_scale);
    }
    return held;
  }
};

static_assert(protocol::quantising_block<quantising_block<wide_block>>);
static_assert(protocol::quantising_block<quantising_block<narrow_block>>);

}  // namespace switchyard::cuda
