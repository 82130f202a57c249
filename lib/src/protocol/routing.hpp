// SPDX-License-Identifier: Apache-2.0
// Which ranks a token goes to.
#pragma once

#include <bit>
#include <cstdint>

#include "layout/device_code.hpp"
#include "protocol/active_ranks.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::protocol {

/// A set of ranks.
class rank_bits {
 public:
  /// Whether the rank was not in the set before.
  constexpr bool add(std::int32_t rank) {
    const auto place = static_cast<std::uint32_t>(rank);
    auto& word = words_[place / 64];
    const auto bit = std::uint64_t{1} << (place % 64);
    const bool added = (word & bit) == 0;
    word |= bit;
    return added;
  }

 private:
  std::uint64_t words_[max_ep_size / 64]{};
};

/// Contiguous split of experts over ranks: the first num_experts mod ep_size ranks own one more. All numbers fit 31
/// bits. Made on the host, so that blocks divide by multiplying: a GPU has to build divisions from other instructions.
class expert_map {
 public:
  constexpr expert_map() : expert_map(1, 1) {}
  /// Precondition: 1 <= ep_size <= num_experts < 2^31.
  constexpr expert_map(std::int64_t num_experts, std::int32_t ep_size)
      : num_experts_(static_cast<std::uint32_t>(num_experts)),
        per_rank_(num_experts_ / static_cast<std::uint32_t>(ep_size)),
        num_larger_(num_experts_ % static_cast<std::uint32_t>(ep_size)),
        shift_(num_larger_ == 0 && std::has_single_bit(per_rank_)
                   ? static_cast<std::uint32_t>(std::countr_zero(per_rank_))
                   : no_shift),
        over_larger_(reciprocal_of(per_rank_ + 1)),
        over_smaller_(reciprocal_of(per_rank_)) {}

  /// The experts [first, last) of a rank.
  struct range {
    std::uint32_t first;
    std::uint32_t last;
  };

  /// The owner of a global expert id, or -1 for an id outside [0, num_experts).
  [[nodiscard]] constexpr std::int32_t owner_of(std::int32_t expert) const {
    return shifts() ? owner_by_shift(expert) : owner_by_division(expert);
  }
  /// Which of the two below says the owner. Who asks for many owners asks this once.
  [[nodiscard]] constexpr bool shifts() const { return shift_ != no_shift; }
  [[nodiscard]] constexpr std::int32_t owner_by_shift(std::int32_t expert) const {
    const auto id = static_cast<std::uint32_t>(expert);
    return id < num_experts_ ? static_cast<std::int32_t>(id >> shift_) : -1;  // a negative id is a large one
  }
  [[nodiscard]] constexpr std::int32_t owner_by_division(std::int32_t expert) const {
    const auto id = static_cast<std::uint32_t>(expert);
    if (id >= num_experts_) return -1;
    const auto in_larger = num_larger_ * (per_rank_ + 1);
    const bool larger = id < in_larger;
    const auto owner = divided(larger ? id : id - in_larger, larger ? over_larger_ : over_smaller_);
    return static_cast<std::int32_t>(larger ? owner : owner + num_larger_);
  }

  [[nodiscard]] constexpr range experts_of(std::int32_t rank) const {
    const auto r = static_cast<std::uint32_t>(rank);
    const auto first = r * per_rank_ + (r < num_larger_ ? r : num_larger_);
    return {first, first + per_rank_ + (r < num_larger_ ? 1U : 0U)};
  }

  /// Calls visit(slot, rank) for each distinct owner of a row's ids, in the order of their first places.
  template <class Visit>
  SWITCHYARD_DEVICE constexpr void for_each_owner(const std::int32_t* ids, std::uint32_t top_k, Visit visit) const {
    rank_bits seen;
    std::uint32_t slot = 0;
    for (std::uint32_t k = 0; k < top_k; ++k) {
      const auto owner = owner_of(ids[k]);
      if (owner >= 0 && seen.add(owner)) visit(slot++, owner);
    }
  }

 private:
  /// floor(2^64 / d) + 1, with which divided() is exact for all 32-bit numerators (Lemire, Kaser, Kurz 2019); 0 for 1.
  static constexpr std::uint64_t reciprocal_of(std::uint32_t d) { return d == 1 ? 0 : ~std::uint64_t{0} / d + 1; }
  /// The upper 64 bits of n * reciprocal.
  static constexpr std::uint32_t divided(std::uint32_t n, std::uint64_t reciprocal) {
    if (reciprocal == 0) return n;
    const auto low = (n * (reciprocal & 0xFFFFFFFFU)) >> 32;
    return static_cast<std::uint32_t>((n * (reciprocal >> 32) + low) >> 32);
  }

  std::uint32_t num_experts_;
  std::uint32_t per_rank_;
  std::uint32_t num_larger_;
  static constexpr std::uint32_t no_shift = 32;
  std::uint32_t shift_;  ///< where all ranks own the same power of two: owners are ids shifted
  std::uint64_t over_larger_;
  std::uint64_t over_smaller_;
};

/// The routing of a step: what a block walks over.
struct token_ids {
  const std::int32_t* ids = nullptr;  ///< [tokens, top_k]
  std::uint32_t tokens = 0;
  std::uint32_t top_k = 1;
  expert_map experts;
  active_ranks active;  ///< ranks that tokens go to: to have an expert of another is to have none

  /// `active`; where there can be no mask, everybody, as the compiler knows.
  template <bool may_mask>
  [[nodiscard]] SWITCHYARD_DEVICE constexpr active_ranks taking_part() const {
    if constexpr (may_mask) return active;
    return {};
  }
  template <bool may_mask>
  [[nodiscard]] SWITCHYARD_DEVICE constexpr std::int32_t owner_of(std::int32_t expert) const {
    const auto owner = experts.owner_of(expert);
    const auto those = taking_part<may_mask>();
    if (those.are_all()) return owner;
    return owner >= 0 && those.contains(owner) ? owner : -1;
  }
  /// expert_map::for_each_owner of a token's ids, for the ranks that take part.
  template <class Visit>
  SWITCHYARD_DEVICE constexpr void for_each_owner(const std::int32_t* of_token, Visit visit) const {
    std::uint32_t slot = 0;
    experts.for_each_owner(of_token, top_k, [&](std::uint32_t, std::int32_t rank) {
      if (active.contains(rank)) visit(slot++, rank);
    });
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
  SWITCHYARD_ROLLED
  for (auto word = first / 32; word * 32 < last; ++word) {
    count += static_cast<std::uint32_t>(std::popcount(word_at(word) & bits_within(word, first, last)));
  }
  return count;
}

}  // namespace switchyard::protocol
