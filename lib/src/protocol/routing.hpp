// SPDX-License-Identifier: Apache-2.0
// Which ranks a token goes to.
#pragma once

#include <bit>
#include <cstdint>

#include "layout/device_code.hpp"

namespace switchyard::protocol {

/// Contiguous split of experts over ranks: the first num_experts mod ep_size ranks own one more. All numbers fit 31
/// bits; divisions are unsigned and 32 bits wide, because a GPU has to build them from other instructions.
struct expert_map {
  std::int64_t num_experts = 1;
  std::int32_t ep_size = 1;

  /// The experts [first, last) of a rank.
  struct range {
    std::uint32_t first;
    std::uint32_t last;
  };

  /// The owner of a global expert id, or -1 for an id outside [0, num_experts).
  [[nodiscard]] constexpr std::int32_t owner_of(std::int32_t expert) const {
    const auto id = static_cast<std::uint32_t>(expert);
    if (id >= static_cast<std::uint32_t>(num_experts)) return -1;  // a negative id is a large one
    const auto in_larger = num_larger() * (per_rank() + 1);
    const auto owner = id < in_larger ? id / (per_rank() + 1) : num_larger() + (id - in_larger) / per_rank();
    return static_cast<std::int32_t>(owner);
  }

  [[nodiscard]] constexpr range experts_of(std::int32_t rank) const {
    const auto r = static_cast<std::uint32_t>(rank);
    const auto first = r * per_rank() + (r < num_larger() ? r : num_larger());
    return {first, first + per_rank() + (r < num_larger() ? 1U : 0U)};
  }

  /// Calls visit(rank) for each distinct owner of the row's ids, in the order of their first slot.
  template <class Visit>
  SWITCHYARD_DEVICE constexpr void for_each_owner(const std::int32_t* ids, std::int32_t top_k, Visit visit) const {
    for (std::int32_t k = 0; k < top_k; ++k) {
      const auto rank = owner_of(ids[k]);
      if (rank < 0) continue;
      const auto own = experts_of(rank);  // an earlier id of the same rank lies in here: no division to find out
      bool first = true;
      for (std::int32_t earlier = 0; earlier < k; ++earlier) {
        const auto id = static_cast<std::uint32_t>(ids[earlier]);
        first = first && (id < own.first || id >= own.last);
      }
      if (first) visit(rank);
    }
  }

 private:
  [[nodiscard]] constexpr std::uint32_t per_rank() const {
    return static_cast<std::uint32_t>(num_experts) / static_cast<std::uint32_t>(ep_size);
  }
  [[nodiscard]] constexpr std::uint32_t num_larger() const {
    return static_cast<std::uint32_t>(num_experts) % static_cast<std::uint32_t>(ep_size);
  }
};

/// Those bits of 32-bit word number `word` of a bitmap that lie in [first, last).
constexpr std::uint32_t bits_within(std::uint64_t word, std::uint64_t first, std::uint64_t last) {
  const auto below = [begin = word * 32](std::uint64_t bound) -> std::uint32_t {
    if (bound <= begin) return 0;
    return bound >= begin + 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << (bound - begin)) - 1;
  };
  return below(last) & ~below(first);
}

/// Bits [first, last) of a bitmap that are set.
template <class Word>
SWITCHYARD_DEVICE constexpr std::uint32_t count_bits(const Word& word_at, std::uint64_t first, std::uint64_t last) {
  std::uint32_t count = 0;
  for (auto word = first / 32; word * 32 < last; ++word) {
    count += static_cast<std::uint32_t>(std::popcount(word_at(word) & bits_within(word, first, last)));
  }
  return count;
}

}  // namespace switchyard::protocol
