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
__device__ __noinline__ inline void copy_narrow(std::byte* out, const std::byte* in, std::uint32_t bytes,
                                                std::uint32_t width, team_part part) {
  switch (width) {
    case 8: return copy_words<uint2>(out, in, bytes / 8, part);
    case 4: return copy_words<unsigned int>(out, in, bytes / 4, part);
    case 2: return copy_words<unsigned short>(out, in, bytes / 2, part);
    default: return copy_words<unsigned char>(out, in, bytes, part);
  }
}

__device__ __forceinline__ std::uint32_t common_access(const std::byte* out, const std::byte* in, std::uint32_t bytes) {
  return widest_access(reinterpret_cast<std::uintptr_t>(out) | reinterpret_cast<std::uintptr_t>(in) | bytes);
}

/// Fewer than 2^32 bytes, by accesses of `width`.
__device__ __forceinline__ void copy_bytes(std::byte* out, const std::byte* in, std::uint32_t bytes,
                                           std::uint32_t width, team_part part) {
  if (width == 16) return copy_words<uint4>(out, in, bytes / 16, part);
  copy_narrow(out, in, bytes, width, part);
}

/// A token on its way to one rank, or to two.
struct token_copy {
  std::uint64_t token;
  protocol::row_target one;
  protocol::row_target other;  ///< base null: there is no other
};

/// The widest rows that real models have go by here: two words of a thread under way together, each stored at one rank
/// or at two.
__device__ __forceinline__ void copy_long_payload(const protocol::payload_source& payload, const token_copy& copy,
                                                  team_part part) {
  const auto* from =
      reinterpret_cast<const uint4*>(payload.data + protocol::wide_product(copy.token, payload.row_bytes));
  auto* to = reinterpret_cast<uint4*>(copy.one.in_region_of(payload));
  auto* also_to = reinterpret_cast<uint4*>(copy.other.base == nullptr ? nullptr : copy.other.in_region_of(payload));
  const auto words = payload.row_bytes / static_cast<std::uint32_t>(sizeof(uint4));
#pragma unroll 1
  for (auto first = part.index; first < words; first += 2 * part.count) {
    const auto second = first + part.count < words ? first + part.count : first;
    const auto held = __ldcg(from + first);
    const auto also_held = __ldcg(from + second);
    to[first] = held;
    to[second] = also_held;
    if (also_to == nullptr) continue;
    also_to[first] = held;
    also_to[second] = also_held;
  }
}

/// One access to a token's rows.
struct row_access {
  const std::byte* in;
  std::byte* out;
  std::byte* other_out;
  std::uint32_t bytes;
};

/// `access` counts through all payloads.
__device__ __forceinline__ row_access access_at(const protocol::payload_list& payloads, const token_copy& copy,
                                                std::uint32_t access) {
  std::uint32_t index = 0;
  std::uint32_t begin = 0;
#pragma unroll 1
  while (access >= payloads.items[index].end_access) begin = payloads.items[index++].end_access;
  const auto& payload = payloads.items[index];
  const auto within = (access - begin) * payload.access_bytes;
  row_access found;
  found.in = payload.data + protocol::wide_product(copy.token, payload.row_bytes) + within;
  found.out = copy.one.in_region_of(payload) + within;
  found.other_out = copy.other.base == nullptr ? nullptr : copy.other.in_region_of(payload) + within;
  found.bytes = payload.access_bytes;
  return found;
}

/// Out of line, and by values: what is given away by reference has to lie in memory.
__device__ __noinline__ inline void copy_narrow_access(std::byte* out, std::byte* other_out, const std::byte* in,
                                                       std::uint32_t bytes) {
  copy_narrow(out, in, bytes, bytes, {0, 1});
  if (other_out != nullptr) copy_narrow(other_out, in, bytes, bytes, {0, 1});
}

/// The payloads of a token, but for the first where it is `without_first`. Short ones by the last threads, which have
/// least of the long one; they load before they turn to that. Two targets at a time: what is loaded once is stored
/// twice.
template <class TargetAt>
__device__ __forceinline__ void copy_token(const protocol::payload_list& payloads, std::uint64_t token,
                                           std::uint32_t targets, const TargetAt& target_at, bool without_first,
                                           team_part part) {
  if (payloads.count == 0) return;
  const bool first_is_long = payloads.items[0].access_bytes == sizeof(uint4);
  const auto accesses = payloads.items[payloads.count - 1].end_access;
  const auto first_short = (first_is_long ? payloads.items[0].end_access : 0) + part.count - 1 - part.index;
#pragma unroll 1
  for (std::uint32_t t = 0; t < targets; t += 2) {
    token_copy copy{token, target_at(t), {}};
    if (t + 1 < targets) copy.other = target_at(t + 1);
    row_access one{};
    uint4 held;
    if (first_short < accesses) {
      one = access_at(payloads, copy, first_short);
      if (one.bytes == sizeof(uint4)) held = __ldcg(reinterpret_cast<const uint4*>(one.in));
    }
    if (first_is_long && !without_first) copy_long_payload(payloads.items[0], copy, part);
#pragma unroll 1
    for (auto access = first_short; access < accesses;) {
      if (one.bytes == sizeof(uint4)) {
        *reinterpret_cast<uint4*>(one.out) = held;
        if (one.other_out != nullptr) *reinterpret_cast<uint4*>(one.other_out) = held;
      } else {
        copy_narrow_access(one.out, one.other_out, one.in, one.bytes);
      }
      access += part.count;
      if (access >= accesses) break;
      one = access_at(payloads, copy, access);
      if (one.bytes == sizeof(uint4)) held = __ldcg(reinterpret_cast<const uint4*>(one.in));
    }
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

/// Sums two or more rows. `batch` words of a thread at a time; rows by pairs, both on their way together.
template <class Element, std::uint32_t batch, class Word, class RowAt>
__device__ __forceinline__ void sum_words(std::byte* out, std::uint32_t num_rows, const RowAt& row_at,
                                          std::uint32_t words, team_part part) {
  using pack = element_pack<Element, Word>;
  const auto word_of = [&](std::uint32_t row) { return reinterpret_cast<const Word*>(row_at(row)); };
#pragma unroll 1
  for (auto first = part.index; first < words; first += batch * part.count) {
    // A place past the end is the first one again: loaded, summed and stored once more, which is shorter than to ask.
    const auto place = [&](std::uint32_t b) { return first + b * part.count < words ? first + b * part.count : first; };
    float sum[batch][pack::count];
    const auto add = [&](const pack(&held)[batch], bool begins) {
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
#pragma unroll
        for (std::uint32_t e = 0; e < pack::count; ++e) {
          const float value = Element::load(held[b].elements[e]);
          sum[b][e] = begins ? value : sum[b][e] + value;
        }
      }
    };
    const auto load = [&](const Word* from, pack(&held)[batch]) {
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) held[b].word = __ldcg(from + place(b));
    };
#pragma unroll 1
    for (std::uint32_t row = 0; row < num_rows; row += 2) {
      pack held[batch];
      pack other_held[batch];
      const bool pair = row + 1 < num_rows;
      load(word_of(row), held);
      if (pair) load(word_of(row + 1), other_held);
      add(held, row == 0);
      if (pair) add(other_held, false);
    }
#pragma unroll
    for (std::uint32_t b = 0; b < batch; ++b) {
      pack rounded;
#pragma unroll
      for (std::uint32_t e = 0; e < pack::count; ++e) rounded.elements[e] = Element::store(sum[b][e]);
      reinterpret_cast<Word*>(out)[place(b)] = rounded.word;
    }
  }
}

/// Two widths are enough, because rows of real models divide by 16 bytes.
template <class Element, std::uint32_t batch, class RowAt>
__device__ __forceinline__ void sum_elements(std::byte* out, std::uint32_t num_rows, const RowAt& row_at,
                                             std::uint32_t elements, team_part part) {
  using bits = typename Element::bits;
  auto alignment = reinterpret_cast<std::uintptr_t>(out) | elements * sizeof(bits);
#pragma unroll 1
  for (std::uint32_t row = 0; row < num_rows; ++row) alignment |= reinterpret_cast<std::uintptr_t>(row_at(row));
  if (widest_access(alignment) == sizeof(uint4)) {
    const auto words = elements * static_cast<std::uint32_t>(sizeof(bits)) / static_cast<std::uint32_t>(sizeof(uint4));
    sum_words<Element, batch, uint4>(out, num_rows, row_at, words, part);
  } else {
    sum_words<Element, batch, bits>(out, num_rows, row_at, elements, part);
  }
}

}  // namespace switchyard::cuda
