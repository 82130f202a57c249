// SPDX-License-Identifier: Apache-2.0
// The order of the roles of a combine that send. What waits has tickets of its own.
#pragma once

#include <cstdint>

#include "layout/device_code.hpp"

namespace switchyard::protocol {

enum class combine_work : std::uint8_t {
  tell,  ///< this rank's header to `rank`
  send,  ///< chunk `chunk` of the rows that came from `rank`
};

struct combine_role {
  combine_work work = combine_work::tell;
  std::int32_t rank = 0;
  std::uint32_t chunk = 0;
};

/// Roles by ticket: headers; then sends, the first chunk to every peer before the second to any.
class combine_order {
 public:
  SWITCHYARD_DEVICE constexpr combine_order(std::uint32_t chunks, std::int32_t ranks, std::int32_t self)
      : ranks_(static_cast<std::uint32_t>(ranks)),
        self_(static_cast<std::uint32_t>(self)),
        sends_(chunks * (ranks_ - 1)) {}

  [[nodiscard]] SWITCHYARD_DEVICE constexpr std::uint32_t size() const { return ranks_ + sends_; }
  [[nodiscard]] SWITCHYARD_DEVICE constexpr combine_role at(std::uint32_t ticket) const {
    if (ticket < ranks_) return {combine_work::tell, static_cast<std::int32_t>(ticket), 0};
    const auto send = ticket - ranks_;
    const auto peers = ranks_ - 1;
    const auto chunk = peers == 1 ? send : send / peers;  // a GPU builds a division from many instructions
    // From the next rank on: not all ranks send to the same one first.
    auto rank = self_ + 1 + (send - chunk * peers);
    if (rank >= ranks_) rank -= ranks_;
    return {combine_work::send, static_cast<std::int32_t>(rank), chunk};
  }

 private:
  std::uint32_t ranks_;
  std::uint32_t self_;
  std::uint32_t sends_;
};

}  // namespace switchyard::protocol
