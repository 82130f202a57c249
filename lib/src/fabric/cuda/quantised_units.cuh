// SPDX-License-Identifier: Apache-2.0
// What a thread of a GPU does with units of low precision: sixteen elements of a row, a byte each on their way. The
// machine's conversions have the roundings of protocol/e4m3.hpp, which is what the other machines compute with: nearest
// even, magnitudes above 448 and infinities become 448, NaN 0x7F, zeros keep their sign.
//
// Which elements rows have, and whether blocks have scales, is asked at run time: it is the same for all threads, and
// one kernel for all of them is a sixth of the code.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/cuda/row_copies.cuh"
#include "protocol/e4m3.hpp"
#include "protocol/quantised_rows.hpp"

namespace switchyard::cuda {

inline constexpr std::uint32_t elements_of_unit = 16;
struct unit_values {
  float of[elements_of_unit];
};

/// Elements of the unit that the row has; 0 for a unit past its end.
__device__ __forceinline__ std::uint32_t elements_in(std::uint32_t unit, const protocol::quantised_shape& shape) {
  const auto first = unit * elements_of_unit;
  if (first >= shape.elements) return 0;
  const auto rest = shape.elements - first;
  return rest < elements_of_unit ? rest : elements_of_unit;
}
/// Whether rows that are as they are begin where 16 bytes are aligned, and have whole units alone.
__device__ __forceinline__ bool has_whole_units(const protocol::quantised_shape& shape) {
  return shape.elements % elements_of_unit == 0;
}

template <class Element>
__device__ __forceinline__ void load_whole(unit_values& values, const std::byte* row, std::uint32_t unit) {
  using pack = element_pack<Element, uint4>;
  constexpr std::uint32_t packs = elements_of_unit / pack::count;
  const auto* from = reinterpret_cast<const uint4*>(row) + unit * packs;
  pack held[packs];
#pragma unroll
  for (std::uint32_t i = 0; i < packs; ++i) held[i].word = __ldcg(from + i);
#pragma unroll
  for (std::uint32_t i = 0; i < elements_of_unit; ++i) {
    values.of[i] = Element::load(held[i / pack::count].elements[i % pack::count]);
  }
}
template <class Element>
__device__ __forceinline__ void store_whole(std::byte* row, std::uint32_t unit, const unit_values& values) {
  using pack = element_pack<Element, uint4>;
  constexpr std::uint32_t packs = elements_of_unit / pack::count;
  auto* to = reinterpret_cast<uint4*>(row) + unit * packs;
#pragma unroll
  for (std::uint32_t i = 0; i < packs; ++i) {
    pack rounded;
#pragma unroll
    for (std::uint32_t e = 0; e < pack::count; ++e)
      rounded.elements[e] = Element::store(values.of[i * pack::count + e]);
    to[i] = rounded.word;
  }
}

/// Element by element: rows of real models never come here.
template <class Element>
__device__ __noinline__ void load_part(unit_values* values, const std::byte* row, std::uint32_t first,
                                       std::uint32_t count) {
  using bits = typename Element::bits;
#pragma unroll 1
  for (std::uint32_t i = 0; i < elements_of_unit; ++i) {
    values->of[i] = i < count ? Element::load(__ldcg(reinterpret_cast<const bits*>(row) + first + i)) : 0.0F;
  }
}
template <class Element>
__device__ __noinline__ void store_part(std::byte* row, std::uint32_t first, std::uint32_t count,
                                        const unit_values* values) {
#pragma unroll 1
  for (std::uint32_t i = 0; i < count; ++i) {
    reinterpret_cast<typename Element::bits*>(row)[first + i] = Element::store(values->of[i]);
  }
}

template <class Callable>
__device__ __forceinline__ void with_unit_of(dtype type, const Callable& callable) {
  if (type == dtype::bf16) return callable(bf16_unit{});
  if (type == dtype::fp16) return callable(fp16_unit{});
  callable(fp32_unit{});
}

/// Zeros past the end of the row.
__device__ __forceinline__ void load_values(unit_values& values, const std::byte* row, std::uint32_t unit,
                                            const protocol::quantised_shape& shape) {
  const auto count = elements_in(unit, shape);
  with_unit_of(shape.type, [&](auto element) {
    using element_type = decltype(element);
    if (has_whole_units(shape) && count != 0) return load_whole<element_type>(values, row, unit);
    unit_values loaded;
    load_part<element_type>(&loaded, row, unit * elements_of_unit, count);
    values = loaded;
  });
}
__device__ __forceinline__ void store_values(std::byte* row, std::uint32_t unit, const unit_values& values,
                                             const protocol::quantised_shape& shape) {
  with_unit_of(shape.type, [&](auto element) {
    using element_type = decltype(element);
    if (has_whole_units(shape)) return store_whole<element_type>(row, unit, values);
    const unit_values stored = values;
    store_part<element_type>(row, unit * elements_of_unit, elements_in(unit, shape), &stored);
  });
}

/// The scale of the block of eight units that eight neighbouring lanes have. By all lanes of the warp together.
__device__ __forceinline__ float settle_scale(const unit_values& values) {
  std::uint32_t largest = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < elements_of_unit; ++i) {
    largest = max(largest, __float_as_uint(values.of[i]) & 0x7FFFFFFFU);
  }
#pragma unroll
  for (std::uint32_t lanes = 1; lanes < layout::units_of_scale; lanes *= 2) {
    largest = max(largest, __shfl_xor_sync(~0U, largest, lanes));
  }
  return protocol::scale_of(largest);
}

/// The elements of values, divided by the scale where `scaled`: as the contract has it, not multiplied by an inverse.
__device__ __forceinline__ protocol::word_pair quantised(const unit_values& values, bool scaled, float scale) {
  std::uint32_t words[elements_of_unit / 4];
#pragma unroll
  for (std::uint32_t i = 0; i < elements_of_unit / 4; ++i) {
    std::uint16_t pairs[2];
#pragma unroll
    for (std::uint32_t p = 0; p < 2; ++p) {
      float low = values.of[4 * i + 2 * p];
      float high = values.of[4 * i + 2 * p + 1];
      if (scaled) {
        low = __fdiv_rn(low, scale);
        high = __fdiv_rn(high, scale);
      }
      asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pairs[p]) : "f"(high), "f"(low));
    }
    words[i] = static_cast<std::uint32_t>(pairs[1]) << 16 | pairs[0];
  }
  return {static_cast<std::uint64_t>(words[1]) << 32 | words[0], static_cast<std::uint64_t>(words[3]) << 32 | words[2]};
}

/// A unit of a row that is as it is. By all lanes of the warp together. Out of line: its sixteen values would take the
/// registers that callers have sums in.
__device__ __noinline__ inline protocol::quantised_unit quantise_values(const std::byte* row, std::uint32_t unit,
                                                                        protocol::quantised_shape shape) {
  unit_values values;
  load_values(values, row, unit, shape);
  protocol::quantised_unit result;
  result.scale = shape.has_scales() ? settle_scale(values) : 1.0F;
  result.words = quantised(values, shape.has_scales(), result.scale);
  return result;
}

__device__ __forceinline__ void add_to_values(unit_values& sum, const protocol::quantised_unit& unit, bool first) {
  const std::uint32_t words[]{
      static_cast<std::uint32_t>(unit.words.first), static_cast<std::uint32_t>(unit.words.first >> 32),
      static_cast<std::uint32_t>(unit.words.second), static_cast<std::uint32_t>(unit.words.second >> 32)};
#pragma unroll
  for (std::uint32_t i = 0; i < elements_of_unit / 2; ++i) {
    const auto pair = static_cast<std::uint16_t>(words[i / 2] >> (i % 2 * 16));
    std::uint32_t halves = 0;  // fp16 has every value of e4m3
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(pair));
    const float low = __fmul_rn(fp16_unit::load(static_cast<std::uint16_t>(halves)), unit.scale);
    const float high = __fmul_rn(fp16_unit::load(static_cast<std::uint16_t>(halves >> 16)), unit.scale);
    sum.of[2 * i] = first ? low : __fadd_rn(sum.of[2 * i], low);
    sum.of[2 * i + 1] = first ? high : __fadd_rn(sum.of[2 * i + 1], high);
  }
}

}  // namespace switchyard::cuda
