// SPDX-License-Identifier: Apache-2.0
// How the CUDA fabric cuts a phase. Host code without a device, so that it is tested without one.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "fabric/fabric.hpp"

namespace switchyard::cuda {

/// Threads of a block. Few tokens: a row of 7168 bf16 is less than two 16-byte accesses a thread. Many: more blocks,
/// each with a role of its own, so that some wait for their stores while others store.
inline constexpr std::uint32_t wide_block = 512;
inline constexpr std::uint32_t narrow_block = 256;
/// Registers of a thread are held to what lets these many threads be on a multiprocessor.
inline constexpr std::uint32_t threads_per_multiprocessor = 1024;

/// Narrow blocks that one rank may have so that all ranks of its device are resident together: a block that waits for a
/// peer holds its place, and a peer without any place would never come. As many places as a multiprocessor has stay
/// free, for abort(). A wide block takes two places, of one multiprocessor: ranks that share a device have narrow ones
/// only, because what the others leave may lie on different multiprocessors.
constexpr int resident_blocks(int multiprocessors, int blocks_per_multiprocessor, int ranks_on_device) {
  return (multiprocessors - 1) * blocks_per_multiprocessor / ranks_on_device;
}

constexpr int places_of(const phase_plan& plan) {
  return plan.num_blocks * plan.block_threads / static_cast<int>(narrow_block);
}

/// What one rank has of its device.
struct device_share {
  int places = 1;     ///< for narrow blocks, >= 1
  bool alone = true;  ///< no other rank of the group is there: a launch that waits for places keeps no peer waiting
};

/// Whether a launch may be made ready while `previous` places are still taken: both must fit, and nobody else be there,
/// because what ran before a launch of a captured graph is known on replay only.
constexpr bool may_overlap(const phase_plan& plan, int previous, device_share share) {
  return share.alone && 2 * places_of(plan) <= share.places && 2 * previous <= share.places;
}

/// Tokens of a dispatch under one flag: few, because blocks get unequal shares of a link, and one that is ahead takes
/// the next chunk; up to what every layout has flags for.
constexpr std::uint64_t dispatch_chunk_tokens(std::uint64_t tokens_per_rank) {
  constexpr std::uint64_t chunks_wanted = 1024;
  return std::bit_ceil((tokens_per_rank + chunks_wanted - 1) / chunks_wanted);
}

/// Rows of a combine under one flag: few, so that sums follow closely, but not more roles than some thousands over all
/// peers.
constexpr std::uint64_t combine_chunk_tokens(std::uint64_t tokens_per_rank, const layout::extents& dims) {
  constexpr std::uint64_t sends_wanted = 4096;
  const auto peers = dims.ep_size > 1 ? dims.ep_size - 1 : 1;
  const auto most_chunks = std::min(dims.max_chunks(), std::max<std::uint64_t>(sends_wanted / peers, 16));
  const auto least = std::bit_ceil((tokens_per_rank + most_chunks - 1) / most_chunks);
  // One fence for a few rows, where that leaves a chunk for every other block.
  const auto wanted = std::min<std::uint64_t>(4, std::bit_ceil((tokens_per_rank + 255) / 256));
  return std::max(least, wanted);
}

/// Tokens that a block sums at a time.
constexpr std::uint64_t sum_tokens_for(std::uint64_t tokens_per_rank) {
  return tokens_per_rank <= 128 ? 1 : tokens_per_rank <= 1024 ? 2 : tokens_per_rank <= 4096 ? 4 : 8;
}

/// `max_blocks` 0: no further bound.
constexpr launch_plan plan_launches(std::uint64_t tokens_per_rank, const layout::extents& dims, device_share share,
                                    int max_blocks) {
  const auto shape = [&](std::uint64_t chunk_tokens, std::uint64_t roles) {
    phase_plan plan;
    plan.chunk_tokens = chunk_tokens;
    const auto wanted = static_cast<int>(std::min<std::uint64_t>(roles, 1U << 15));
    // Wide where there is room for all roles and for the next launch's.
    const bool wide = share.alone && wanted <= share.places / 4;
    plan.block_threads = static_cast<int>(wide ? wide_block : narrow_block);
    plan.num_blocks = wide ? wanted : std::min(share.places, wanted);
    if (max_blocks > 0) plan.num_blocks = std::min(plan.num_blocks, max_blocks);
    return plan;
  };
  const auto roles_for = [&](std::uint64_t tokens_each) { return (tokens_per_rank + tokens_each - 1) / tokens_each; };
  launch_plan plan;
  const auto dispatch_chunk = dispatch_chunk_tokens(tokens_per_rank);
  plan.dispatch =
      shape(dispatch_chunk, roles_for(dispatch_chunk) + dims.ep_size * protocol::receive_parts(tokens_per_rank));
  plan.reduce_tokens = sum_tokens_for(tokens_per_rank);
  const auto combine_chunk = combine_chunk_tokens(tokens_per_rank, dims);
  plan.combine = shape(
      combine_chunk, 2 * dims.ep_size + (dims.ep_size - 1) * roles_for(combine_chunk) + roles_for(plan.reduce_tokens));
  return plan;
}

/// Bytes of shared memory that a dispatch of T tokens asks for beyond the team's own words.
constexpr std::uint64_t scratch_bytes(std::uint64_t tokens_per_rank, const layout::extents& dims) {
  protocol::dispatch_params shape;
  shape.ws.ep_size = static_cast<std::int32_t>(dims.ep_size);
  shape.ws.layout.dims = dims;
  shape.tokens_per_rank = tokens_per_rank;
  shape.chunk_shift = static_cast<std::uint32_t>(std::countr_zero(dispatch_chunk_tokens(tokens_per_rank)));
  return protocol::scratch_words(shape) * sizeof(std::uint32_t);
}
inline constexpr std::uint64_t combine_scratch_bytes =
    protocol::scratch_words(protocol::combine_params{}) * sizeof(std::uint32_t);

}  // namespace switchyard::cuda
