// SPDX-License-Identifier: Apache-2.0
// Rows in ordinary memory as units of 16 bytes: how a thread loads and stores one, whole or filled in part.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/lamport_rows.hpp"

namespace switchyard::cuda {

inline constexpr std::uint32_t unit_bytes = static_cast<std::uint32_t>(layout::unit_bytes);

/// Rows that are no multiple of 16 bytes, by accesses of 4 bytes, or of 2 where they are no multiple of 4 either. Out
/// of line: long rows of real models never come here.
__device__ __noinline__ ulonglong2 load_narrow_unit(const std::byte* in, std::uint32_t bytes, bool by_halves) {
  std::uint32_t words[4];
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto at = 4 * i;
    words[i] = 0;
    if (by_halves) {
      if (at < bytes) words[i] = __ldcg(reinterpret_cast<const unsigned short*>(in + at));
      if (at + 2 < bytes) {
        words[i] |= static_cast<std::uint32_t>(__ldcg(reinterpret_cast<const unsigned short*>(in + at + 2))) << 16;
      }
    } else if (at < bytes) {
      words[i] = __ldcg(reinterpret_cast<const unsigned int*>(in + at));
    }
  }
  return {static_cast<std::uint64_t>(words[1]) << 32 | words[0], static_cast<std::uint64_t>(words[3]) << 32 | words[2]};
}

__device__ __noinline__ void store_narrow_unit(std::byte* out, ulonglong2 value, std::uint32_t bytes, bool by_halves) {
  const std::uint32_t words[4]{static_cast<std::uint32_t>(value.x), static_cast<std::uint32_t>(value.x >> 32),
                               static_cast<std::uint32_t>(value.y), static_cast<std::uint32_t>(value.y >> 32)};
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto at = 4 * i;
    if (by_halves) {
      if (at < bytes) *reinterpret_cast<std::uint16_t*>(out + at) = static_cast<std::uint16_t>(words[i]);
      if (at + 2 < bytes) *reinterpret_cast<std::uint16_t*>(out + at + 2) = static_cast<std::uint16_t>(words[i] >> 16);
    } else if (at < bytes) {
      *reinterpret_cast<std::uint32_t*>(out + at) = words[i];
    }
  }
}

/// A unit of a row in ordinary memory. `rest`: bytes of the row from it on.
struct plain_unit {
  std::uint32_t offset;
  std::uint32_t rest;
};
__device__ __forceinline__ ulonglong2 load_unit(const std::byte* row, plain_unit unit, bool wide, bool by_halves) {
  if (wide) return __ldcg(reinterpret_cast<const ulonglong2*>(row + unit.offset));
  return load_narrow_unit(row + unit.offset, unit.rest, by_halves);
}
__device__ __forceinline__ void store_unit(std::byte* row, plain_unit unit, ulonglong2 value, bool wide,
                                           bool by_halves) {
  if (wide) {
    *reinterpret_cast<ulonglong2*>(row + unit.offset) = value;
  } else {
    store_narrow_unit(row + unit.offset, value, unit.rest, by_halves);
  }
}

/// One of a token's payloads as units see it. Its rows are multiples of 4 bytes (eligibility), and of 16 where `wide`.
__device__ __forceinline__ ulonglong2 load_payload_unit(const protocol::payload_list& payloads, std::uint64_t token,
                                                        std::uint32_t unit) {
  const auto place = protocol::place_of(payloads, unit);
  const auto& payload = payloads.items[place.payload];
  const auto* row = payload.data + protocol::wide_product(token, payload.row_bytes);
  return load_unit(row, {place.offset, place.bytes}, payload.access_bytes == unit_bytes, payload.access_bytes < 4);
}
__device__ __forceinline__ void store_payload_unit(const protocol::payload_list& payloads, protocol::row_target to,
                                                   std::uint32_t unit, ulonglong2 value) {
  const auto place = protocol::place_of(payloads, unit);
  const auto& payload = payloads.items[place.payload];
  store_unit(to.in_region_of(payload), {place.offset, place.bytes}, value, payload.access_bytes == unit_bytes, false);
}

}  // namespace switchyard::cuda
