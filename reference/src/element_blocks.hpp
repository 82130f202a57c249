// SPDX-License-Identifier: Apache-2.0
// Rows in pieces that fit the first-level cache: widened to fp32 in flat loops, worked on, and narrowed again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "switchyard/reference/float_conversion.hpp"
#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {

/// 4 KiB of fp32: a sum and an operand stay in any first-level cache, and the loops' set-up is amortised.
inline constexpr std::size_t block_elements = 1024;

struct bf16_element {
  using bits = std::uint16_t;
  static float widen(bits element) noexcept { return bf16_to_fp32(element); }
  static bits narrow(float value) noexcept { return fp32_to_bf16(value); }
};

struct fp16_element {
  using bits = std::uint16_t;
  static float widen(bits element) noexcept { return fp16_to_fp32(element); }
  static bits narrow(float value) noexcept { return fp32_to_fp16(value); }
};

struct fp32_element {
  using bits = std::uint32_t;
  static float widen(bits element) noexcept { return std::bit_cast<float>(element); }
  static bits narrow(float value) noexcept { return fp32_to_bits(value); }
};

/// Calls `function` with a value of the element type that `type` names.
template <typename Function>
decltype(auto) with_element(dtype type, Function&& function) {
  switch (type) {
    case dtype::bf16: return function(bf16_element{});
    case dtype::fp16: return function(fp16_element{});
    case dtype::fp32: return function(fp32_element{});
  }
  throw invalid_argument("reference: dtype names no element type");
}

/// Element `index` of a row that need not be aligned.
template <typename Element>
float load(const std::byte* row, std::size_t index) noexcept {
  typename Element::bits element;
  std::memcpy(&element, row + index * sizeof(element), sizeof(element));
  return Element::widen(element);
}

// The three loops stay out of line: inlined into a caller's loop over rows, g++ 12 loses track of __restrict and leaves
// them scalar.
template <typename Element>
[[gnu::noinline]] void widen(const std::byte* __restrict row, std::size_t elements, float* __restrict values) noexcept {
  for (std::size_t j = 0; j < elements; ++j) values[j] = load<Element>(row, j);
}

template <typename Element>
[[gnu::noinline]] void add(const std::byte* __restrict row, std::size_t elements, float* __restrict values) noexcept {
  for (std::size_t j = 0; j < elements; ++j) values[j] += load<Element>(row, j);
}

template <typename Element>
[[gnu::noinline]] void narrow(const float* __restrict values, std::size_t elements,
                              std::byte* __restrict row) noexcept {
  for (std::size_t j = 0; j < elements; ++j) {
    const typename Element::bits element = Element::narrow(values[j]);
    std::memcpy(row + j * sizeof(element), &element, sizeof(element));
  }
}

}  // namespace switchyard::reference
