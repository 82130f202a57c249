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
  std::uint32_t due_word;        ///< mask_word_of(due): worked out by the host, so that no kernel need call it
  std::uint32_t latched_word;    ///< of `latched`
  std::uint32_t dropped_routes;  ///< of the step in flight; 0 again from combine on
};
inline constexpr std::uint64_t rank_mask_bytes = 128;
static_assert(sizeof(rank_mask_words) <= rank_mask_bytes);

/// What a header says of a mask: the mask itself where it fits the word, else a hash. Each word is mixed twice over:
/// once leaves pairs of masks of 256 ranks that differ in four of them and have one hash.
constexpr std::uint32_t mask_word_of(const rank_set& mask, std::int32_t ep_size) {
  if (ep_size <= 32) return static_cast<std::uint32_t>(mask[0]);
  std::uint64_t hash = 0;
  for (const auto word : mask) {
    hash ^= word;
    for (int round = 0; round < 2; ++round) hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15ULL;
  }
  return static_cast<std::uint32_t>(hash >> 32);
}

constexpr rank_set all_ranks(int ep_size) {
  rank_set all{};
  for (int rank = 0; rank < ep_size; ++rank) insert(all, rank);
  return all;
}

/// Of a workspace in which nothing has run: these take part.
constexpr rank_mask_words first_rank_mask(const rank_set& active, int ep_size) {
  rank_mask_words words{};
  words.due = words.latched = active;
  words.due_word = words.latched_word = mask_word_of(words.due, ep_size);
  return words;
}

}  // namespace switchyard::layout
