// SPDX-License-Identifier: Apache-2.0
// Which ranks a token goes to.
#pragma once

#include <cstdint>

namespace switchyard::protocol {

/// Contiguous split of experts over ranks: the first num_experts mod ep_size ranks own one more.
struct expert_map {
  std::int64_t num_experts = 1;
  std::int32_t ep_size = 1;

  /// The owner of a global expert id, or -1 for an id outside [0, num_experts).
  [[nodiscard]] constexpr std::int32_t owner_of(std::int32_t expert) const {
    if (expert < 0 || expert >= num_experts) return -1;
    const auto per_rank = num_experts / ep_size;
    const auto larger = num_experts % ep_size;  // ranks that own per_rank + 1
    const auto in_larger = larger * (per_rank + 1);
    const auto owner = expert < in_larger ? expert / (per_rank + 1) : larger + (expert - in_larger) / per_rank;
    return static_cast<std::int32_t>(owner);
  }

  /// Calls visit(rank) for each distinct owner of the row's ids, in the order of their first slot.
  template <class Visit>
  constexpr void for_each_owner(const std::int32_t* ids, std::int32_t top_k, Visit visit) const {
    for (std::int32_t k = 0; k < top_k; ++k) {
      const auto rank = owner_of(ids[k]);
      if (rank < 0) continue;
      bool first = true;
      for (std::int32_t earlier = 0; earlier < k && first; ++earlier) first = owner_of(ids[earlier]) != rank;
      if (first) visit(rank);
    }
  }
};

/// Bits [first, last) of a bitmap that are set.
template <class Word>
constexpr std::uint32_t count_bits(const Word& word_at, std::uint64_t first, std::uint64_t last) {
  std::uint32_t count = 0;
  for (auto bit = first; bit < last;) {
    const auto in_word = bit % 32;
    const auto take = (32 - in_word) < (last - bit) ? (32 - in_word) : (last - bit);
    const auto mask = static_cast<std::uint32_t>(((std::uint64_t{1} << take) - 1) << in_word);
    count += static_cast<std::uint32_t>(__builtin_popcount(word_at(bit / 32) & mask));
    bit += take;
  }
  return count;
}

}  // namespace switchyard::protocol
