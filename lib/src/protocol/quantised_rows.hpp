// SPDX-License-Identifier: Apache-2.0
// What a low-precision combine asks of a block besides what every combine does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/quantised_row.hpp"
#include "protocol/block.hpp"
#include "protocol/lamport_words.hpp"
#include "protocol/params.hpp"

namespace switchyard::protocol {

/// The rows of a step: so many elements of a type, and the format in which they travel.
struct quantised_shape {
  low_precision format = low_precision::fp8;
  dtype type = dtype::bf16;
  std::uint32_t elements = 0;

  [[nodiscard]] constexpr bool has_scales() const { return format == low_precision::fp8_block_scaled; }
  [[nodiscard]] constexpr std::uint32_t units() const { return static_cast<std::uint32_t>(layout::units_of(elements)); }
  [[nodiscard]] constexpr std::uint32_t plain_row_bytes() const {
    return elements * static_cast<std::uint32_t>(itemsize(type));
  }
};
SWITCHYARD_DEVICE constexpr quantised_shape shape_of(const quantised_combine_params& p) {
  return {p.ws.layout.dims.combine_format, p.type, static_cast<std::uint32_t>(p.elements)};
}

/// Sixteen elements, the last of a row filled up with zeros, and the scale of the block that they belong to.
struct quantised_unit {
  word_pair words;
  float scale = 1.0F;
};

/// A block that quantises. Rows "as they are" have elements of the shape's type; quantised rows lie as
/// layout/quantised_row.hpp says. Arithmetic: protocol/e4m3.hpp, every product and sum rounded to fp32, and the sum as
/// DESIGN's combine contract.
///
/// | operation          | what it does                                                                             |
/// | ------------------ | ---------------------------------------------------------------------------------------- |
/// | put_quantised      | as put: stores a row that is as it is to a peer, quantised. Inside for_each_row            |
/// | sum_quantised      | as sum_rows: `out` is as it is, each row either so (is_own) or quantised                   |
/// | quantise_unit      | a unit of a row that is as it is, zeros past its end. Called by all threads of the team    |
/// |                    | together, each with unit base + thread_index(): those of a block may settle its scale     |
/// | add_quantised      | [thread] adds a unit's elements to the sum; `true`: the first source's                     |
/// | store_quantised_sum| [thread] rounds the sum of a unit into an output row, as it is                             |
template <class B>
concept quantising_block = block<B> &&
    requires(B b, std::byte* bytes, const std::byte* source, std::uint32_t u32,
             const std::byte* (*row_at)(std::uint32_t), bool (*is_own)(std::uint32_t), const quantised_shape& shape,
             typename B::quantised_sum& sum, const quantised_unit& unit) {
  b.put_quantised(bytes, source, shape);
  b.sum_quantised(bytes, u32, row_at, is_own, shape);
  { b.quantise_unit(source, u32, shape) } -> std::same_as<quantised_unit>;
  b.add_quantised(sum, unit, true);
  b.store_quantised_sum(bytes, u32, sum, shape);
};

}  // namespace switchyard::protocol
