// SPDX-License-Identifier: Apache-2.0
// Rows in ordinary memory as units of 16 bytes: how a thread loads and stores one, whole or filled in part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/lamport_rows.hpp"

namespace switchyard::cuda {

inline constexpr std::uint32_t unit_bytes = static_cast<std::uint32_t>(layout::unit_bytes);

/// Units of rows that are no multiple of 16 bytes, by accesses of 4 bytes.
__device__ __forceinline__ ulonglong2 load_by_quads(const std::byte* in, std::uint32_t bytes) {
  std::uint32_t words[4];
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    words[i] = 4 * i < bytes ? __ldcg(reinterpret_cast<const unsigned int*>(in) + i) : 0;
  }
  return {static_cast<std::uint64_t>(words[1]) << 32 | words[0], static_cast<std::uint64_t>(words[3]) << 32 | words[2]};
}
__device__ __forceinline__ void store_by_quads(std::byte* out, ulonglong2 value, std::uint32_t bytes) {
  const std::uint32_t words[4]{static_cast<std::uint32_t>(value.x), static_cast<std::uint32_t>(value.x >> 32),
                               static_cast<std::uint32_t>(value.y), static_cast<std::uint32_t>(value.y >> 32)};
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (4 * i < bytes) reinterpret_cast<std::uint32_t*>(out)[i] = words[i];
  }
}

/// Of rows that are no multiple of 4 bytes, by accesses of 2: outputs of odd sizes. Out of line.
__device__ __noinline__ inline ulonglong2 load_by_halves(const std::byte* in, std::uint32_t bytes) {
  std::uint64_t words[2]{};
#pragma unroll 1
  for (std::uint32_t i = 0; i < bytes / 2; ++i) {
    const auto half = static_cast<std::uint64_t>(__ldcg(reinterpret_cast<const unsigned short*>(in) + i));
    words[i / 4] |= half << (i % 4 * 16);
  }
  return {words[0], words[1]};
}
__device__ __noinline__ inline void store_by_halves(std::byte* out, ulonglong2 value, std::uint32_t bytes) {
#pragma unroll 1
  for (std::uint32_t i = 0; i < bytes / 2; ++i) {
    const auto word = i < 4 ? value.x : value.y;
    reinterpret_cast<std::uint16_t*>(out)[i] = static_cast<std::uint16_t>(word >> (i % 4 * 16));
  }
}

/// A unit of a row in ordinary memory, at an address: whole where rows are multiples of 16 bytes. Where `halves` is
/// false, rows are multiples of 4.
template <bool halves>
__device__ __forceinline__ ulonglong2 load_plain_unit(const protocol::located_unit& unit, const std::byte* in) {
  if (unit.wide()) return __ldcg(reinterpret_cast<const ulonglong2*>(in));
  if constexpr (halves) {
    if (unit.row_bytes % 4 != 0) return load_by_halves(in, unit.bytes);
  }
  return load_by_quads(in, unit.bytes);
}
template <bool halves>
__device__ __forceinline__ void store_plain_unit(const protocol::located_unit& unit, std::byte* out, ulonglong2 value) {
  if (unit.wide()) {
    *reinterpret_cast<ulonglong2*>(out) = value;
    return;
  }
  if constexpr (halves) {
    if (unit.row_bytes % 4 != 0) return store_by_halves(out, value, unit.bytes);
  }
  store_by_quads(out, value, unit.bytes);
}

}  // namespace switchyard::cuda
