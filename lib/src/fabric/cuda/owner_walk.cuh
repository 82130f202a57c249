// SPDX-License-Identifier: Apache-2.0
// How a block of a GPU looks at the ids of tokens.
#pragma once

#include <cstdint>

#include "fabric/cuda/block_shape.hpp"
#include "protocol/routing.hpp"

namespace switchyard::cuda {

/// What protocol::block says of visit_owners, count_owners and route_all, for a CTA of `block_threads`.
template <std::uint32_t block_threads>
class owner_walk {
 public:
  /// A few lanes a token, one id each: the ids of a token are looked at together.
  template <class Visit>
  __device__ static void visit(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                               Visit visit) {
    const auto shift = lanes_shift(routing.top_k);
    const auto lane = threadIdx.x % 32;
    const auto k = lane & ((1U << shift) - 1);
    const auto of_token = ~0U >> (32 - (1U << shift)) << (lane - k);
    // Whole warps go round together: by the token of the warp's first lane.
    SWITCHYARD_ROLLED
    for (auto warps_token = first + ((threadIdx.x - lane) >> shift); warps_token < last;
         warps_token += block_threads >> shift) {
      const auto token = warps_token + (lane >> shift);
      const auto id =
          token < last && k < routing.top_k ? routing.ids[protocol::wide_product(token, routing.top_k) + k] : -1;
      const auto owner = token < last ? routing.experts.owner_of(id) : -1;
      const auto same = __match_any_sync(~0U, owner) & of_token;
      const bool leads = owner >= 0 && (same & (0U - same)) == 1U << lane;
      const auto distinct = __ballot_sync(~0U, leads ? 1 : 0) & of_token;
      if (leads) visit(token, static_cast<std::uint32_t>(__popc(distinct & ((1U << lane) - 1))), owner);
    }
  }
  template <class Count>
  __device__ static void count(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                               std::uint32_t ranks, Count count) {
    // A thread a token: more tokens at a time than by visit, whose slots nobody asks for here.
    const auto lane = threadIdx.x % 32;
    SWITCHYARD_ROLLED
    for (auto warps_token = first + threadIdx.x - lane; warps_token < last; warps_token += batch * block_threads) {
      std::uint64_t owners[batch] = {};
      add_owners(routing, warps_token + lane, last, owners, [](std::uint32_t, std::int32_t) {});
      SWITCHYARD_ROLLED
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        std::uint32_t tokens = 0;
#pragma unroll
        for (std::uint32_t b = 0; b < batch; ++b)
          tokens += static_cast<std::uint32_t>(__popc(who_has(owners[b], rank)));
        if (lane == rank % 32 && tokens != 0) count(static_cast<std::int32_t>(rank), tokens);
      }
    }
  }
  template <class Visit, class Word>
  __device__ static void route_all(const protocol::token_ids& routing, std::uint32_t tokens, std::uint32_t words,
                                   std::uint32_t slots, std::uint32_t ranks, Visit visit, Word word) {
    const auto lane = threadIdx.x % 32;
    SWITCHYARD_ROLLED
    for (auto warps_token = threadIdx.x - lane; warps_token < 32 * words; warps_token += batch * block_threads) {
      const auto token_of = [&](std::uint32_t b) { return warps_token + lane + b * block_threads; };
      std::uint64_t owners[batch] = {};
      std::uint32_t used[batch] = {};
      add_owners(routing, token_of(0), tokens, owners,
                 [&](std::uint32_t b, std::int32_t owner) { visit(token_of(b), used[b]++, owner); });
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        if (token_of(b) >= tokens) continue;
        SWITCHYARD_ROLLED
        for (; used[b] < slots; ++used[b]) visit(token_of(b), used[b], -1);
      }
      SWITCHYARD_ROLLED
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
#pragma unroll
        for (std::uint32_t b = 0; b < batch; ++b) {
          const auto bits = who_has(owners[b], rank);
          const auto w = (warps_token + b * block_threads) / 32;
          if (lane == rank % 32 && w < words) word(rank, w, bits);
        }
      }
    }
  }

 private:
  static constexpr std::uint32_t batch = 1024 / block_threads;  ///< tokens of a thread that are under way together

  __device__ static std::uint32_t who_has(std::uint64_t owners, std::uint32_t rank) {
    return __ballot_sync(~0U, static_cast<int>(owners >> rank & 1U));
  }

  /// Adds the owners, of ranks below 64, of the tokens first, first + block_threads .. below `last` to their sets, and
  /// tells of each that is new: added(which of the tokens, owner).
  template <class Added>
  __device__ static void add_owners(const protocol::token_ids& routing, std::uint32_t first, std::uint32_t last,
                                    std::uint64_t (&owners)[batch], Added added) {
    const auto add = [&](std::uint32_t b, std::int32_t id) {
      const auto owner = routing.experts.owner_of(id);
      if (owner < 0 || (owners[b] >> owner & 1U) != 0) return;
      owners[b] |= std::uint64_t{1} << owner;
      added(b, owner);
    };
    const auto ids_of = [&](std::uint32_t b) {
      return routing.ids + protocol::wide_product(first + b * block_threads, routing.top_k);
    };
    constexpr std::uint32_t quad = 4;
    if (routing.top_k % quad != 0) {
      SWITCHYARD_ROLLED
      for (std::uint32_t k = 0; k < routing.top_k; ++k) {
        std::int32_t ids[batch];
#pragma unroll
        for (std::uint32_t b = 0; b < batch; ++b) ids[b] = first + b * block_threads < last ? ids_of(b)[k] : -1;
#pragma unroll
        for (std::uint32_t b = 0; b < batch; ++b) add(b, ids[b]);
      }
      return;
    }
    // Rows whose length divides by 16 bytes are aligned to them: the API's rule for payloads.
    SWITCHYARD_ROLLED
    for (std::uint32_t k = 0; k < routing.top_k; k += 2 * quad) {
      int4 ids[batch][2];
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
        const bool any = first + b * block_threads < last;
        const auto* from = reinterpret_cast<const int4*>(ids_of(b) + k);
        ids[b][0] = any ? from[0] : make_int4(-1, -1, -1, -1);
        ids[b][1] = any && k + quad < routing.top_k ? from[1] : make_int4(-1, -1, -1, -1);
      }
#pragma unroll
      for (std::uint32_t b = 0; b < batch; ++b) {
#pragma unroll
        for (std::uint32_t half = 0; half < 2; ++half) {
          add(b, ids[b][half].x);
          add(b, ids[b][half].y);
          add(b, ids[b][half].z);
          add(b, ids[b][half].w);
        }
      }
    }
  }

  /// Lanes of a warp that look at one token's ids: as a shift, because a GPU builds divisions from other instructions.
  __device__ static std::uint32_t lanes_shift(std::uint32_t top_k) {
    return static_cast<std::uint32_t>(32 - __clz(static_cast<int>(top_k - 1)));
  }
};

}  // namespace switchyard::cuda
