// SPDX-License-Identifier: Apache-2.0
// How the CUDA fabric cuts a phase. Host code without a device, so that it is tested without one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "fabric/cuda/block_shape.hpp"
#include "fabric/fabric.hpp"

namespace switchyard::cuda {

/// What one rank has of its device: `multiprocessors` of them are left by one that is kept free, for abort().
struct device_share {
  int multiprocessors = 1;
  kernel_room room;  ///< of one
  int ranks = 1;     ///< of the group on the device

  /// A launch that waits for places keeps no peer waiting.
  [[nodiscard]] constexpr bool alone() const { return ranks == 1; }
  /// Narrow blocks that the rank may have so that all ranks of its device are resident together: a block that waits for
  /// a peer holds its place, and a peer without any place would never come.
  [[nodiscard]] constexpr int narrow_places() const { return multiprocessors * room.narrow / ranks; }
  /// Ranks that share a device have narrow blocks only, because what the others leave may lie on different
  /// multiprocessors.
  [[nodiscard]] constexpr int wide_places() const { return alone() ? multiprocessors * room.wide : 0; }
  [[nodiscard]] constexpr int medium_places() const { return alone() ? multiprocessors * room.medium : 0; }
  [[nodiscard]] constexpr int places_for(const phase_plan& plan) const {
    if (plan.block_threads == static_cast<int>(medium_block)) return medium_places();
    return plan.block_threads == static_cast<int>(wide_block) ? wide_places() : narrow_places();
  }
};

/// Whether a launch may be made ready while the one before still has its places: both must fit, blocks of one width,
/// because what a multiprocessor has left by others may be of no use; and no other rank may be there, because what ran
/// before a launch of a captured graph is known on replay only.
constexpr bool may_overlap(const phase_plan& plan, const phase_plan& previous, const device_share& share) {
  return share.alone() && plan.block_threads == previous.block_threads &&
         2 * plan.num_blocks <= share.places_for(plan) && 2 * previous.num_blocks <= share.places_for(previous);
}

// The numbers below come from results/h200x2-nv18/LOG.md, 5.

/// Up to so many tokens a rank, the blocks of a phase are wide.
inline constexpr std::uint64_t most_tokens_for_wide_dispatch = 1024;
inline constexpr std::uint64_t most_tokens_for_wide_combine = 512;

/// Tokens that a block of a dispatch sends at a time. Wide blocks: a chunk for each multiprocessor. Narrow ones: a row
/// or two for each warp; few, because blocks get unequal shares of a link, and one that is ahead takes the next chunk.
constexpr std::uint64_t dispatch_chunk_tokens(std::uint64_t tokens_per_rank) {
  if (tokens_per_rank <= most_tokens_for_wide_dispatch) return std::bit_ceil((tokens_per_rank + 127) / 128);
  return tokens_per_rank <= 2048 ? 8 : 4;
}

/// Rows of a combine under one flag: few, so that sums follow closely, but not more roles than some thousands over all
/// peers.
constexpr std::uint64_t combine_chunk_tokens(std::uint64_t tokens_per_rank, const layout::extents& dims) {
  constexpr std::uint64_t sends_wanted = 4096;
  const auto peers = dims.ep_size > 1 ? dims.ep_size - 1 : 1;
  const auto most_chunks = std::min(dims.max_chunks(), std::max<std::uint64_t>(sends_wanted / peers, 16));
  const auto least = std::bit_ceil((tokens_per_rank + most_chunks - 1) / most_chunks);
  return std::max<std::uint64_t>(least, tokens_per_rank <= 128 ? 1 : 4);
}

/// Tokens that a block sums at a time.
constexpr std::uint64_t sum_tokens_for(std::uint64_t tokens_per_rank) {
  return tokens_per_rank > 128 && tokens_per_rank <= most_tokens_for_wide_combine ? 2 : 1;
}

/// Blocks of a combine that send, of so many.
constexpr int senders_of(std::uint64_t tokens_per_rank, int num_blocks) {
  const bool few = tokens_per_rank > most_tokens_for_wide_combine && tokens_per_rank <= 2048;
  return std::max(1, num_blocks / (few ? 4 : 3));
}

/// Bytes of shared memory that a dispatch of T tokens asks for beyond the team's own words.
constexpr std::uint64_t dispatch_scratch_bytes(std::uint64_t tokens_per_rank, const layout::extents& dims,
                                               bool routes_all) {
  protocol::dispatch_params shape;
  shape.ws.ep_size = static_cast<std::int32_t>(dims.ep_size);
  shape.ws.layout.dims = dims;
  shape.tokens_per_rank = tokens_per_rank;
  shape.routes_all = routes_all;
  shape.chunk_shift = static_cast<std::uint32_t>(std::countr_zero(dispatch_chunk_tokens(tokens_per_rank)));
  return protocol::scratch_words(shape) * sizeof(std::uint32_t);
}

/// `max_blocks` 0: no further bound.
constexpr launch_plan plan_launches(std::uint64_t tokens_per_rank, const layout::extents& dims,
                                    const device_share& share, int max_blocks) {
  const auto shape = [&](std::uint64_t chunk_tokens, std::uint64_t roles, bool several_roles) {
    phase_plan plan;
    plan.chunk_tokens = chunk_tokens;
    const auto wanted = static_cast<int>(std::min<std::uint64_t>(roles, 1U << 15));
    // Wide blocks have a role each, two of them on a multiprocessor; where they may have several roles, there is one,
    // and room for the next launch beside it.
    const auto twice = 2 * share.multiprocessors;
    const bool wide = share.wide_places() >= twice && (several_roles || wanted <= twice);
    plan.block_threads = static_cast<int>(wide ? wide_block : narrow_block);
    plan.num_blocks = std::min(wanted, !wide ? share.narrow_places() : several_roles ? share.multiprocessors : twice);
    // To be tried on a GPU: medium blocks from so many tokens on.
    constexpr std::uint64_t least_tokens_for_medium = ~std::uint64_t{0};
    if (!wide && tokens_per_rank >= least_tokens_for_medium && share.medium_places() > 0) {
      plan.block_threads = static_cast<int>(medium_block);
      plan.num_blocks = std::min(wanted, share.medium_places());
    }
    if (max_blocks > 0) plan.num_blocks = std::min(plan.num_blocks, max_blocks);
    return plan;
  };
  const auto roles_for = [&](std::uint64_t tokens_each) { return (tokens_per_rank + tokens_each - 1) / tokens_each; };
  launch_plan plan;
  const auto dispatch_chunk = dispatch_chunk_tokens(tokens_per_rank);
  plan.dispatch =
      shape(dispatch_chunk, roles_for(dispatch_chunk) + dims.ep_size * protocol::receive_parts(tokens_per_rank),
            tokens_per_rank <= most_tokens_for_wide_dispatch);
  const auto threads = static_cast<std::uint32_t>(plan.dispatch.block_threads);
  plan.routes_all = tokens_per_rank <= 1024 &&
                    dispatch_scratch_bytes(tokens_per_rank, dims, true) <= most_bytes_to_route_all(threads);
  plan.reduce_tokens = sum_tokens_for(tokens_per_rank);
  const auto combine_chunk = combine_chunk_tokens(tokens_per_rank, dims);
  plan.combine = shape(combine_chunk,
                       2 * dims.ep_size + (dims.ep_size - 1) * roles_for(combine_chunk) + roles_for(plan.reduce_tokens),
                       tokens_per_rank > 128 && tokens_per_rank <= most_tokens_for_wide_combine);
  plan.senders = senders_of(tokens_per_rank, plan.combine.num_blocks);
  return plan;
}

/// Bytes of shared memory that a combine of T tokens asks for beyond the team's own words.
constexpr std::uint64_t combine_scratch_bytes(std::uint64_t tokens_per_rank, const layout::extents& dims) {
  protocol::combine_params shape;
  shape.ws.layout.dims = dims;
  shape.reduce_shift = static_cast<std::uint32_t>(std::countr_zero(sum_tokens_for(tokens_per_rank)));
  return protocol::scratch_words(shape) * sizeof(std::uint32_t);
}

/// What any step of a workspace may ask for that does not route all tokens at once. Fewer tokens may ask for more:
/// chunks and sums do not grow with T alone.
constexpr scratch_need most_scratch_bytes(const layout::extents& dims) {
  scratch_need most;
  // Within a power of two both grow with T, but for the bounds of the policy, which are powers of two.
  for (std::uint64_t tokens = 1;; tokens = std::min(2 * tokens, dims.max_tokens)) {
    most.dispatch = std::max(most.dispatch, dispatch_scratch_bytes(tokens, dims, false));
    most.combine = std::max(most.combine, combine_scratch_bytes(tokens, dims));
    if (tokens == dims.max_tokens) return most;
  }
}

}  // namespace switchyard::cuda
