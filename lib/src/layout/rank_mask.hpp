// SPDX-License-Identifier: Apache-2.0
// Which ranks take part: words of the workspace, so that they change between replays of a captured graph.
#pragma once

#include <cstdint>

#include "switchyard/spec/faults.hpp"

namespace switchyard::layout {

/// The region rank_mask. Written by work of this rank's own stream only; abort() may read meanwhile.
struct rank_mask_words {
  rank_set due;                  ///< of the next dispatch, by set_active_ranks
  rank_set latched;              ///< of the last dispatch, and so of the combine that belongs to it
  std::uint32_t dropped_routes;  ///< of the step in flight; 0 again from combine on
};
inline constexpr std::uint64_t rank_mask_bytes = 128;
static_assert(sizeof(rank_mask_words) <= rank_mask_bytes);

/// Of a workspace in which nothing has run: everybody takes part.
constexpr rank_mask_words first_rank_mask(int ep_size) {
  rank_mask_words words{};
  for (int rank = 0; rank < ep_size; ++rank) insert(words.due, rank);
  words.latched = words.due;
  return words;
}

}  // namespace switchyard::layout
