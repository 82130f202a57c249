// SPDX-License-Identifier: Apache-2.0
// Copies and sums of rows by a part of a block, with the widest accesses that addresses and length allow. Loads pass by
// the first-level cache, which is not coherent with what peers store; several are in flight before the first is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/ordered_sum.hpp"

namespace switchyard::cuda {

/// The threads that have a row: thread `index` of `count`.
struct team_part {
  std::uint32_t index;
  std::uint32_t count;
};

/// 16, 8, 4, 2 or 1: the widest access that suits every address and length in `bits`, all or-ed together.
__device__ __forceinline__ std::uint32_t widest_access(std::uint64_t bits) {
  const auto lowest = static_cast<std::uint32_t>(bits | 16U);
  return lowest & (~lowest + 1U);
}

template <class Word>
__device__ __forceinline__ void copy_words(std::byte* out, std::byte* other, const std::byte* in, std::uint64_t words,
                                           team_part part) {
  constexpr std::uint32_t batch = 8;  // 128 bytes in flight per thread: 64 KiB per block of 512
  auto* to = reinterpret_cast<Word*>(out);
  auto* other_to = reinterpret_cast<Word*>(other);
  const auto* from = reinterpret_cast<const Word*>(in);
  const std::uint64_t stride = part.count;
  for (std::uint64_t first = part.index; first < words; first += batch * stride) {
    Word held[batch];
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (first + b * stride < words) held[b] = __ldcg(from + first + b * stride);
    }
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (first + b * stride < words) to[first + b * stride] = held[b];
    }
    if (other_to == nullptr) continue;
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      if (first + b * stride < words) other_to[first + b * stride] = held[b];
    }
  }
}

/// Rows whose length or address is odd: out of line, because rows of real models never come here.
__device__ __noinline__ void copy_narrow(std::byte* out, const std::byte* in, std::uint64_t bytes, std::uint32_t width,
                                         team_part part) {
  switch (width) {
    case 8: return copy_words<uint2>(out, nullptr, in, bytes / 8, part);
    case 4: return copy_words<unsigned int>(out, nullptr, in, bytes / 4, part);
    case 2: return copy_words<unsigned short>(out, nullptr, in, bytes / 2, part);
    default: return copy_words<unsigned char>(out, nullptr, in, bytes, part);
  }
}

__device__ __forceinline__ void copy_bytes(std::byte* out, const std::byte* in, std::uint64_t bytes, team_part part) {
  const auto width =
      widest_access(reinterpret_cast<std::uintptr_t>(out) | reinterpret_cast<std::uintptr_t>(in) | bytes);
  if (width == 16) return copy_words<uint4>(out, nullptr, in, bytes / 16, part);
  copy_narrow(out, in, bytes, width, part);
}

/// The same to two places, loaded once; `other` may be null.
__device__ __forceinline__ void copy_bytes_twice(std::byte* out, std::byte* other, const std::byte* in,
                                                 std::uint64_t bytes, team_part part) {
  const auto width = widest_access(reinterpret_cast<std::uintptr_t>(out) | reinterpret_cast<std::uintptr_t>(other) |
                                   reinterpret_cast<std::uintptr_t>(in) | bytes);
  if (width == 16) return copy_words<uint4>(out, other, in, bytes / 16, part);
  copy_narrow(out, in, bytes, width, part);
  if (other != nullptr) copy_narrow(other, in, bytes, width, part);
}

/// Elements whose conversions the machine does in one instruction each, with the roundings and the canonical NaNs of
/// protocol/ordered_sum.hpp, which is what the other machines compute with.
struct bf16_unit {
  using bits = std::uint16_t;
  __device__ static float load(bits value) { return __uint_as_float(static_cast<std::uint32_t>(value) << 16); }
  __device__ static bits store(float value) {
    bits rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
  }
};

struct fp16_unit {
  using bits = std::uint16_t;
  __device__ static float load(bits value) {
    float exact;
    asm("cvt.f32.f16 %0, %1;" : "=f"(exact) : "h"(value));
    return exact;
  }
  __device__ static bits store(float value) {
    bits rounded;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
  }
};

struct fp32_unit {
  using bits = std::uint32_t;
  __device__ static float load(bits value) { return __uint_as_float(value); }
  __device__ static bits store(float value) { return protocol::fp32_element::store(value); }
};

/// A Word seen as elements.
template <class Element, class Word>
union element_pack {
  static constexpr std::uint32_t count = sizeof(Word) / sizeof(typename Element::bits);
  Word word;
  typename Element::bits elements[count];
};

template <class Element, class Word, std::uint32_t batch>
__device__ __forceinline__ void sum_words(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows,
                                          std::uint32_t words, team_part part) {
  using pack = element_pack<Element, Word>;
  const auto stride = part.count;  // a row has fewer than 2^26 bytes: 32 bits do for its words
  for (std::uint32_t first = part.index; first < words; first += batch * stride) {
    float sum[batch][pack::count];
    // Two rows at a time: both are on their way before the first is used, and each may come from a peer.
    for (std::uint32_t row = 0; row < num_rows; row += 2) {
      const auto* from = reinterpret_cast<const Word*>(rows[row]);
      const bool pair = row + 1 < num_rows;
      const auto* other_from = reinterpret_cast<const Word*>(rows[pair ? row + 1 : row]);
      pack held[batch];
      pack other_held[batch];
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        if (first + b * stride < words) held[b].word = __ldcg(from + first + b * stride);
      }
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        if (pair && first + b * stride < words) other_held[b].word = __ldcg(other_from + first + b * stride);
      }
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
#pragma unroll
        for (std::uint32_t e = 0; e < pack::count; ++e) {
          const float value = Element::load(held[b].elements[e]);
          sum[b][e] = row == 0 ? value : sum[b][e] + value;
          if (pair) sum[b][e] += Element::load(other_held[b].elements[e]);
        }
      }
    }
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      pack rounded;
#pragma unroll
      for (std::uint32_t e = 0; e < pack::count; ++e) rounded.elements[e] = Element::store(sum[b][e]);
      if (first + b * stride < words) reinterpret_cast<Word*>(out)[first + b * stride] = rounded.word;
    }
  }
}

template <class Element>
__device__ __noinline__ void sum_narrow(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows,
                                        std::uint64_t elements, team_part part) {
  sum_words<Element, typename Element::bits, 1>(out, rows, num_rows, static_cast<std::uint32_t>(elements), part);
}

/// Sums two or more rows; two widths are enough, because rows of real models divide by 16 bytes. Out of line: a call a
/// row costs less than the registers that three element types would take from each other inline.
template <class Element>
__device__ __noinline__ void sum_rows(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows,
                                      std::uint64_t elements, team_part part) {
  using bits = typename Element::bits;
  auto alignment = reinterpret_cast<std::uintptr_t>(out) | elements * sizeof(bits);
  for (std::uint32_t row = 0; row < num_rows; ++row) alignment |= reinterpret_cast<std::uintptr_t>(rows[row]);
  if (widest_access(alignment) == 16) {
    sum_words<Element, uint4, 4>(out, rows, num_rows, static_cast<std::uint32_t>(elements * sizeof(bits) / 16), part);
  } else {
    sum_narrow<Element>(out, rows, num_rows, elements, part);
  }
}

__device__ __forceinline__ void sum_rows_of(dtype type, std::byte* out, const std::byte* const* rows,
                                            std::uint32_t num_rows, std::uint64_t elements, team_part part) {
  switch (type) {
    case dtype::bf16: return sum_rows<bf16_unit>(out, rows, num_rows, elements, part);
    case dtype::fp16: return sum_rows<fp16_unit>(out, rows, num_rows, elements, part);
    case dtype::fp32: return sum_rows<fp32_unit>(out, rows, num_rows, elements, part);
  }
}

}  // namespace switchyard::cuda
