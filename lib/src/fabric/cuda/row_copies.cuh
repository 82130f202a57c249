// SPDX-License-Identifier: Apache-2.0
// Copies and sums of rows by a part of a block, with the widest accesses that addresses and length allow. Loads pass by
// the first-level cache, which is not coherent with what peers store; several are in flight before the first is used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/ordered_sum.hpp"
#include "protocol/payload_rows.hpp"

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
__device__ __forceinline__ void copy_words(std::byte* out, const std::byte* in, std::uint32_t words, team_part part) {
  auto* to = reinterpret_cast<Word*>(out);
  const auto* from = reinterpret_cast<const Word*>(in);
#pragma unroll 1
  for (auto first = part.index; first < words; first += 2 * part.count) {
    const auto second = first + part.count < words ? first + part.count : first;
    const Word held = __ldcg(from + first);
    const Word also_held = __ldcg(from + second);
    to[first] = held;
    to[second] = also_held;
  }
}

/// Rows whose length or address is odd: out of line, because rows of real models never come here.
__device__ __noinline__ void copy_narrow(std::byte* out, const std::byte* in, std::uint32_t bytes, std::uint32_t width,
                                         team_part part) {
  switch (width) {
    case 8: return copy_words<uint2>(out, in, bytes / 8, part);
    case 4: return copy_words<unsigned int>(out, in, bytes / 4, part);
    case 2: return copy_words<unsigned short>(out, in, bytes / 2, part);
    default: return copy_words<unsigned char>(out, in, bytes, part);
  }
}

/// Fewer than 2^32 bytes.
__device__ __forceinline__ void copy_bytes(std::byte* out, const std::byte* in, std::uint32_t bytes, team_part part) {
  const auto width =
      widest_access(reinterpret_cast<std::uintptr_t>(out) | reinterpret_cast<std::uintptr_t>(in) | bytes);
  if (width == 16) return copy_words<uint4>(out, in, bytes / 16, part);
  copy_narrow(out, in, bytes, width, part);
}

/// One access to a token's rows: read once, stored at one rank or two.
struct row_access {
  const std::byte* in;
  std::byte* out;
  std::byte* other_out;
  std::uint32_t bytes;
};

__device__ __forceinline__ row_access access_of(const protocol::payload_source& payload,
                                                const protocol::token_rows& rows, std::uint32_t access) {
  const auto within = access * payload.access_bytes;
  const auto at_row = [&](std::uint64_t row) { return protocol::wide_product(row, payload.row_bytes) + within; };
  row_access found;
  found.in = payload.data + at_row(rows.token);
  found.out = rows.out + payload.destination + at_row(rows.row);
  found.other_out = rows.other_out == nullptr ? nullptr : rows.other_out + payload.destination + at_row(rows.other_row);
  found.bytes = payload.access_bytes;
  return found;
}

/// The first payload is the long one: it is found without a search.
__device__ __forceinline__ row_access access_at(const protocol::payload_list& payloads,
                                                const protocol::token_rows& rows, std::uint32_t access) {
  if (access < payloads.items[0].end_access) return access_of(payloads.items[0], rows, access);
  std::uint32_t index = 1;
#pragma unroll 1
  while (access >= payloads.items[index].end_access) ++index;
  return access_of(payloads.items[index], rows, access - payloads.items[index - 1].end_access);
}

__device__ __noinline__ void copy_narrow_access(const row_access& one) {
  copy_narrow(one.out, one.in, one.bytes, one.bytes, {0, 1});
  if (one.other_out != nullptr) copy_narrow(one.other_out, one.in, one.bytes, one.bytes, {0, 1});
}

/// All payloads of a token in one sweep, two accesses of a thread under way together: short rows wait with the long
/// one.
__device__ __forceinline__ void copy_token(const protocol::payload_list& payloads, const protocol::token_rows& rows,
                                           team_part part) {
  if (payloads.count == 0) return;
  const auto accesses = payloads.items[payloads.count - 1].end_access;
#pragma unroll 1
  for (auto first = part.index; first < accesses; first += 2 * part.count) {
    const auto one = access_at(payloads, rows, first);
    const auto two = access_at(payloads, rows, first + part.count < accesses ? first + part.count : first);
    if (one.bytes != sizeof(uint4) || two.bytes != sizeof(uint4)) {
      copy_narrow_access(one);
      copy_narrow_access(two);
      continue;
    }
    const auto held = __ldcg(reinterpret_cast<const uint4*>(one.in));
    const auto also_held = __ldcg(reinterpret_cast<const uint4*>(two.in));
    *reinterpret_cast<uint4*>(one.out) = held;
    *reinterpret_cast<uint4*>(two.out) = also_held;
    if (rows.other_out == nullptr) continue;
    *reinterpret_cast<uint4*>(one.other_out) = held;
    *reinterpret_cast<uint4*>(two.other_out) = also_held;
  }
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

/// Sums two or more rows. Two words of a thread at a time; rows by pairs, both on their way together.
template <class Element, class Word, class RowAt>
__device__ __forceinline__ void sum_words(std::byte* out, std::uint32_t num_rows, const RowAt& row_at,
                                          std::uint32_t words, team_part part) {
  using pack = element_pack<Element, Word>;
  const auto word_of = [&](std::uint32_t row) { return reinterpret_cast<const Word*>(row_at(row)); };
#pragma unroll 1
  for (auto first = part.index; first < words; first += 2 * part.count) {
    const auto second = first + part.count < words ? first + part.count : first;
    float sum[2][pack::count];
    const auto add = [&](const pack& held, float(&to)[pack::count], bool begins) {
#pragma unroll
      for (std::uint32_t e = 0; e < pack::count; ++e) {
        const float value = Element::load(held.elements[e]);
        to[e] = begins ? value : to[e] + value;
      }
    };
#pragma unroll 1
    for (std::uint32_t row = 0; row < num_rows; row += 2) {
      const auto* from = word_of(row);
      const bool pair = row + 1 < num_rows;
      const auto* other = pair ? word_of(row + 1) : from;
      pack held[2];
      pack other_held[2];
      held[0].word = __ldcg(from + first);
      held[1].word = __ldcg(from + second);
      if (pair) {
        other_held[0].word = __ldcg(other + first);
        other_held[1].word = __ldcg(other + second);
      }
      add(held[0], sum[0], row == 0);
      add(held[1], sum[1], row == 0);
      if (!pair) break;
      add(other_held[0], sum[0], false);
      add(other_held[1], sum[1], false);
    }
    pack rounded[2];
#pragma unroll
    for (std::uint32_t e = 0; e < pack::count; ++e) {
      rounded[0].elements[e] = Element::store(sum[0][e]);
      rounded[1].elements[e] = Element::store(sum[1][e]);
    }
    reinterpret_cast<Word*>(out)[first] = rounded[0].word;
    reinterpret_cast<Word*>(out)[second] = rounded[1].word;
  }
}

/// Two widths are enough, because rows of real models divide by 16 bytes.
template <class Element, class RowAt>
__device__ __forceinline__ void sum_elements(std::byte* out, std::uint32_t num_rows, const RowAt& row_at,
                                             std::uint32_t elements, team_part part) {
  using bits = typename Element::bits;
  auto alignment = reinterpret_cast<std::uintptr_t>(out) | elements * sizeof(bits);
#pragma unroll 1
  for (std::uint32_t row = 0; row < num_rows; ++row) alignment |= reinterpret_cast<std::uintptr_t>(row_at(row));
  if (widest_access(alignment) == sizeof(uint4)) {
    const auto words = elements * static_cast<std::uint32_t>(sizeof(bits)) / static_cast<std::uint32_t>(sizeof(uint4));
    sum_words<Element, uint4>(out, num_rows, row_at, words, part);
  } else {
    sum_words<Element, bits>(out, num_rows, row_at, elements, part);
  }
}

}  // namespace switchyard::cuda
