// SPDX-License-Identifier: Apache-2.0
// The region in which a rank is told of faults.
#pragma once

#include <cstdint>

#include "layout/device_code.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::layout {

/// Peers store the word; which of them it is heard from is this rank's own. Who is masked off is not: such a rank still
/// tells everybody that it knew of its faults, and of its abort() on the way to recover().
struct notice_words {
  std::uint64_t word;  ///< tagged with the incarnation; data as protocol::encode() makes them
  rank_set heard;      ///< everybody where there are no rank masks
};

inline constexpr unsigned notice_origin_shift = 10;  ///< of the eight data bits that say which rank tells

constexpr rank_set every_rank() {
  rank_set all{};
  for (auto& word : all) word = ~std::uint64_t{0};
  return all;
}

/// Who is heard in a workspace in which nothing has run, and these ranks take part.
constexpr rank_set heard_ranks(const rank_set& active, bool rank_masks) { return rank_masks ? active : every_rank(); }

SWITCHYARD_DEVICE inline bool is_of_heard_rank(std::uint64_t word, const std::uint64_t* notice) {
  const auto origin = static_cast<std::uint32_t>(word >> notice_origin_shift) & 0xFFU;
  return (notice[1 + origin / 64] >> (origin % 64) & 1U) != 0;
}
/// Whether what was read from the word `notice` tells of a fault. may_mask: not everybody need be heard.
template <bool may_mask>
SWITCHYARD_DEVICE bool is_heard(std::uint64_t word, const std::uint64_t* notice, std::uint32_t incarnation) {
  return static_cast<std::uint32_t>(word >> 32) == incarnation && (!may_mask || is_of_heard_rank(word, notice));
}

}  // namespace switchyard::layout
