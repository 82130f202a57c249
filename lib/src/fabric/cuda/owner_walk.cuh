// SPDX-License-Identifier: Apache-2.0
// How a block of a GPU looks at the ids of tokens.
#pragma once

#include <cstdint>

#include "fabric/cuda/row_copies.cuh"
#include "protocol/routing.hpp"

namespace switchyard::cuda {

/// What protocol::block says of visit_owners and mark_owners, for a CTA of `block_threads`. may_mask: as its block.
template <std::uint32_t block_threads, bool may_mask>
class owner_walk {
 public:
  /// A few lanes a token, one id each: the ids of a token are looked at together. The part is of whole warps.
  template <class Visit>
  __device__ static void visit(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                               std::uint32_t slots, team_part part, Visit visit) {
    const auto shift = lanes_shift(routing.top_k);
    const auto lane = part.index % 32;
    const auto k = lane & ((1U << shift) - 1);
    const auto of_token = ~0U >> (32 - (1U << shift)) << (lane - k);
    // Whole warps go round together: by the token of the warp's first lane.
    SWITCHYARD_ROLLED
    for (auto warps_token = first + ((part.index - lane) >> shift); warps_token < last;
         warps_token += part.count >> shift) {
      const auto token = warps_token + (lane >> shift);
      const auto id =
          token < last && k < routing.top_k ? routing.ids[protocol::wide_product(token, routing.top_k) + k] : -1;
      const auto owner = token < last ? routing.owner_of<may_mask>(id) : -1;
      const auto same = __match_any_sync(~0U, owner) & of_token;
      const bool leads = owner >= 0 && (same & (0U - same)) == 1U << lane;
      const auto distinct = __ballot_sync(~0U, leads ? 1 : 0) & of_token;
      if (leads) visit(token, static_cast<std::uint32_t>(__popc(distinct & ((1U << lane) - 1))), owner);
      if (token < last && k < slots && k >= static_cast<std::uint32_t>(__popc(distinct))) visit(token, k, -1);
    }
  }
  /// A thread a token, several of them under way together; sets of 32 ranks at a time.
  template <class Mark>
  __device__ static void mark(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                              std::uint32_t ranks, Mark mark) {
    const auto lane = threadIdx.x % 32;
    SWITCHYARD_ROLLED
    for (std::uint32_t first_rank = 0; first_rank < ranks; first_rank += 32) {
      const auto end_rank = ranks - first_rank < 32 ? ranks : first_rank + 32;
      SWITCHYARD_ROLLED
      for (auto warps_token = first + threadIdx.x - lane; warps_token < last; warps_token += batch * block_threads) {
        std::uint32_t owners[batch] = {};
        const auto& experts = routing.experts;
        if (experts.shifts()) {
          add_owners(routing, warps_token, first_rank, owners,
                     [&](std::int32_t id) { return experts.owner_by_shift(id); });
        } else {
          add_owners(routing, warps_token, first_rank, owners,
                     [&](std::int32_t id) { return experts.owner_by_division(id); });
        }
        if (const auto active = routing.taking_part<may_mask>(); !active.are_all()) {
#pragma unroll
          for (std::uint32_t b = 0; b < batch; ++b) owners[b] &= active.bits_from(first_rank);
        }
        SWITCHYARD_ROLLED
        for (auto rank = first_rank; rank < end_rank; ++rank) {
#pragma unroll
          for (std::uint32_t b = 0; b < batch; ++b) {
            const auto bits = __ballot_sync(~0U, static_cast<int>(owners[b] >> (rank - first_rank) & 1U));
            const auto begin = warps_token + b * block_threads;
            if (lane == rank - first_rank && begin < last) mark(rank, begin / 32, bits);
          }
        }
      }
    }
  }

 private:
  static constexpr std::uint32_t batch = 1024 / block_threads;  ///< tokens of a thread that are under way together

  /// Adds the owners of this lane's tokens, warps_token + lane and every block_threads further, to their sets of the
  /// 32 ranks from `first_rank` on.
  template <class OwnerOf>
  __device__ static void add_owners(const protocol::token_ids& routing, std::uint32_t warps_token,
                                    std::uint32_t first_rank, std::uint32_t (&owners)[batch], OwnerOf owner_of) {
    const auto set_of = [&](std::int32_t id) {
      const auto place = static_cast<std::uint32_t>(owner_of(id)) - first_rank;  // none is a large one
      return place < 32 ? 1U << place : 0U;
    };
    const auto token_of = [&](std::uint32_t b) { return warps_token + threadIdx.x % 32 + b * block_threads; };
    const auto is_mine = [&](std::uint32_t b) { return token_of(b) < routing.tokens; };
    const auto ids_of = [&](std::uint32_t b) {
      return routing.ids + protocol::wide_product(token_of(b), routing.top_k);
    };
    constexpr std::uint32_t quad = 4;
    if (routing.top_k % quad != 0) {
      SWITCHYARD_ROLLED
      for (std::uint32_t k = 0; k < routing.top_k; ++k) {
        std::int32_t ids[batch];
#pragma unroll
        for (std::uint32_t b = 0; b < batch; ++b) ids[b] = is_mine(b) ? ids_of(b)[k] : -1;
#pragma unroll
        for (std::uint32_t b = 0; b < batch; ++b) owners[b] |= set_of(ids[b]);
      }
      return;
    }
    // Rows whose length divides by 16 bytes are aligned to them: the API's rule for payloads.
    const auto set_of_four = [&](int4 ids) { return set_of(ids.x) | set_of(ids.y) | set_of(ids.z) | set_of(ids.w); };
    SWITCHYARD_ROLLED
    for (std::uint32_t k = 0; k < routing.top_k; k += 2 * quad) {
      int4 ids[batch][2];
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        const auto* from = reinterpret_cast<const int4*>(ids_of(b) + k);
        ids[b][0] = is_mine(b) ? from[0] : make_int4(-1, -1, -1, -1);
        ids[b][1] = is_mine(b) && k + quad < routing.top_k ? from[1] : make_int4(-1, -1, -1, -1);
      }
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        // By warps: there is nothing to do for one whose tokens are past the last.
        if (warps_token + b * block_threads >= routing.tokens) break;
        owners[b] |= set_of_four(ids[b][0]) | set_of_four(ids[b][1]);
      }
    }
  }

  /// Lanes of a warp that look at one token's ids: as a shift, because a GPU builds divisions from other instructions.
  __device__ static std::uint32_t lanes_shift(std::uint32_t top_k) {
    return static_cast<std::uint32_t>(32 - __clz(static_cast<int>(top_k - 1)));
  }
};

}  // namespace switchyard::cuda
