// SPDX-License-Identifier: Apache-2.0
// The ranks that take part in a phase.
#pragma once

#include <cstdint>

#include "layout/device_code.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::protocol {

/// A view of a mask that does not change while it is looked at. Where a group has no rank masks there is none.
class active_ranks {
 public:
  constexpr active_ranks() = default;
  SWITCHYARD_DEVICE constexpr explicit active_ranks(const rank_set* mask) : mask_(mask) {}

  [[nodiscard]] SWITCHYARD_DEVICE constexpr bool are_all() const { return mask_ == nullptr; }
  [[nodiscard]] SWITCHYARD_DEVICE constexpr bool contains(std::int32_t rank) const {
    return mask_ == nullptr || switchyard::contains(*mask_, rank);
  }
  /// Of 32 ranks from `first` on, a multiple of 32, a bit each.
  [[nodiscard]] SWITCHYARD_DEVICE constexpr std::uint32_t bits_from(std::uint32_t first) const {
    return mask_ == nullptr ? ~std::uint32_t{0} : static_cast<std::uint32_t>((*mask_)[first / 64] >> (first % 64));
  }

 private:
  const rank_set* mask_ = nullptr;
};

}  // namespace switchyard::protocol
