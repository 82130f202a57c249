// SPDX-License-Identifier: Apache-2.0
// What travels with a token, and where one token's rows go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/device_code.hpp"
#include "layout/lamport_row.hpp"

namespace switchyard::protocol {

/// A payload of the step, present ones only.
struct payload_source {
  const std::byte* data = nullptr;
  std::uint64_t destination = 0;   ///< offset of its region in a workspace
  std::uint32_t row_bytes = 0;     ///< > 0
  std::uint32_t access_bytes = 1;  ///< the widest of 16, 8, 4, 2, 1 that divides row_bytes
  std::uint32_t end_access = 0;    ///< accesses of a row of this payload and of all before it
  std::uint32_t end_unit = 0;      ///< the same in units of Lamport memory
};
inline constexpr std::size_t max_payloads = 5;

struct payload_list {
  std::array<payload_source, max_payloads> items{};
  std::uint32_t count = 0;

  /// `data` is aligned to 16 bytes.
  constexpr void add(const std::byte* data, std::uint32_t row_bytes, std::uint64_t destination) {
    if (row_bytes == 0) return;  // travels, and takes nothing
    std::uint32_t access = 16;
    while (row_bytes % access != 0) access /= 2;
    const auto before = count == 0 ? 0 : items[count - 1].end_access;
    const auto units = units_of_row() + static_cast<std::uint32_t>(layout::units_of(row_bytes));
    items[count++] = {data, destination, row_bytes, access, before + row_bytes / access, units};
  }
  /// Units that a token's payloads take in Lamport memory.
  [[nodiscard]] constexpr std::uint32_t units_of_row() const { return count == 0 ? 0 : items[count - 1].end_unit; }
};

/// Product of two numbers of 32 bits: what offsets are made of. A GPU has an instruction for it, and builds longer ones
/// from several.
constexpr std::uint64_t wide_product(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) * static_cast<std::uint32_t>(b);
}

/// Where one copy of a token goes: a row of the receive regions of one rank.
struct row_target {
  std::byte* base = nullptr;  ///< of the rank's workspace
  std::uint64_t row = 0;

  [[nodiscard]] constexpr std::byte* in_region_of(const payload_source& payload) const {
    return base + payload.destination + wide_product(row, payload.row_bytes);
  }
};

/// put_rows of a block that has nothing better than put.
template <class Block, class TargetAt>
SWITCHYARD_DEVICE void put_one_by_one(Block& block, const payload_list& payloads, std::uint64_t token,
                                      std::uint32_t num_targets, TargetAt target_at) {
  for (std::uint32_t t = 0; t < num_targets; ++t) {
    const auto target = target_at(t);
    for (std::uint32_t i = 0; i < payloads.count; ++i) {
      const auto& payload = payloads.items[i];
      block.put(target.in_region_of(payload), payload.data + token * payload.row_bytes, payload.row_bytes);
    }
  }
}

}  // namespace switchyard::protocol
