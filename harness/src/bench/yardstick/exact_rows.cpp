// SPDX-License-Identifier: Apache-2.0
#include "exact_rows.hpp"

#include <algorithm>
#include <numeric>

namespace switchyard::harness {
namespace {

std::vector<std::uint32_t> owner_masks(const reference::step_shape& shape, const reference::rank_routing& routing) {
  const auto top_k = static_cast<std::size_t>(shape.params.top_k);
  std::vector<std::uint32_t> masks(static_cast<std::size_t>(routing.num_tokens));
  for (std::size_t token = 0; token < masks.size(); ++token) {
    const std::span<const std::int32_t> ids(routing.topk_ids);
    for (const int owner :
         reference::owners_in_slot_order(ids.subspan(token * top_k, top_k), shape.params.num_experts, shape.ep_size)) {
      masks[token] |= 1U << static_cast<unsigned>(owner);
    }
  }
  return masks;
}

bool goes_to(std::uint32_t mask, int rank) { return (mask >> static_cast<unsigned>(rank) & 1U) != 0; }

/// What each source sends to `rank`, then where its own segment begins.
void fill_received(exact_rows& rows, std::span<const exact_rows> all, int rank, std::int64_t tokens_per_rank) {
  for (std::size_t source = 0; source < all.size(); ++source) {
    const auto& masks = all[source].owner_mask;
    const auto before = rows.received_token.size();
    for (std::size_t token = 0; token < masks.size(); ++token) {
      if (!goes_to(masks[token], rank)) continue;
      rows.received_token.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(source) * tokens_per_rank +
                                                              static_cast<std::int64_t>(token)));
    }
    rows.received.push_back(static_cast<std::int64_t>(rows.received_token.size() - before));
  }
}

void fill_sent(exact_rows& rows, int rank) {
  const auto ranks = static_cast<int>(rows.received.size());
  const auto own_begin = std::accumulate(rows.received.begin(), rows.received.begin() + rank, std::int64_t{0});
  rows.summed_place.assign(rows.owner_mask.size() * static_cast<std::size_t>(ranks), no_place);
  std::int64_t next_remote = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    std::int64_t to_peer = 0;
    for (std::size_t token = 0; token < rows.owner_mask.size(); ++token) {
      if (!goes_to(rows.owner_mask[token], peer)) continue;
      const auto place = peer == rank ? local_place(own_begin + to_peer) : remote_place(next_remote++);
      rows.packed_token.push_back(static_cast<std::int32_t>(token));
      rows.packed_place.push_back(place);
      rows.summed_place[token * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(peer)] = place;
      ++to_peer;
    }
    rows.sent.push_back(peer == rank ? 0 : to_peer);
  }
}

}  // namespace

std::int64_t exact_rows::sent_rows() const { return std::accumulate(sent.begin(), sent.end(), std::int64_t{0}); }

std::vector<exact_rows> exact_rows_of(const reference::step_shape& shape,
                                      std::span<const reference::rank_routing> routing) {
  std::vector<exact_rows> all(routing.size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank].owner_mask = owner_masks(shape, routing[rank]);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    fill_received(all[rank], all, static_cast<int>(rank), shape.tokens_per_rank);
    fill_sent(all[rank], static_cast<int>(rank));
  }
  return all;
}

}  // namespace switchyard::harness
