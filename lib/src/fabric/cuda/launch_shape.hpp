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
  [[nodiscard]] constexpr int places_for(const phase_plan& plan) const {
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

// The numbers below come from results/h200x2-nv18/LOG.md, 5 and 6.

/// Up to so many tokens a rank, every token has a block of its own.
inline constexpr std::uint64_t most_tokens_one_a_block = 128;
/// Up to so many, both phases have a block a multiprocessor, each of which has room for the next launch beside it.
inline constexpr std::uint64_t most_tokens_for_half_launches = 512;
constexpr bool halves_launches(std::uint64_t tokens_per_rank) {
  return tokens_per_rank > most_tokens_one_a_block && tokens_per_rank <= most_tokens_for_half_launches;
}

/// Tokens that a block of a dispatch sends at a time. Few, because blocks get unequal shares of a link, and one that is
/// ahead takes the next chunk; for narrow blocks, a row for each warp. Where launches are halved, one chunk a block.
constexpr std::uint64_t dispatch_chunk_tokens(std::uint64_t tokens_per_rank, std::uint32_t block_threads) {
  if (tokens_per_rank <= most_tokens_one_a_block) return 1;
  if (block_threads == narrow_block) return 4;
  return halves_launches(tokens_per_rank) ? std::bit_ceil((tokens_per_rank + 127) / 128) : 2;
}

/// Rows of a combine under one flag: few, so that sums follow closely, but not more roles than some thousands over all
/// peers.
constexpr std::uint64_t combine_chunk_tokens(std::uint64_t tokens_per_rank, const layout::extents& dims) {
  constexpr std::uint64_t sends_wanted = 4096;
  const auto peers = dims.ep_size > 1 ? dims.ep_size - 1 : 1;
  const auto most_chunks = std::min(dims.max_chunks(), std::max<std::uint64_t>(sends_wanted / peers, 16));
  const auto least = std::bit_ceil((tokens_per_rank + most_chunks - 1) / most_chunks);
  return std::max<std::uint64_t>(least, tokens_per_rank <= most_tokens_one_a_block ? 1 : 4);
}

/// Tokens that a block of a combine sums at a time.
constexpr std::uint64_t sum_tokens_for(std::uint64_t tokens_per_rank) {
  return halves_launches(tokens_per_rank) ? 2 : 1;
}

/// Blocks of a combine that send, of so many.
constexpr int senders_of(std::uint64_t tokens_per_rank, int num_blocks) {
  const bool few = tokens_per_rank > most_tokens_for_half_launches && tokens_per_rank <= 1024;
  return std::max(1, num_blocks / (few ? 4 : 3));
}

/// Bytes of shared memory that a phase asks for beyond the team's own words.
template <class Params>
constexpr std::uint64_t scratch_bytes(const Params& params) {
  return protocol::scratch_words(params) * sizeof(std::uint32_t);
}

/// Of a dispatch, as far as its scratch depends on it.
constexpr protocol::dispatch_params dispatch_shape(std::uint64_t tokens_per_rank, const layout::extents& dims,
                                                   std::uint64_t chunk_tokens, bool routes_all) {
  protocol::dispatch_params shape;
  shape.ws.ep_size = static_cast<std::int32_t>(dims.ep_size);
  shape.ws.layout.dims = dims;
  shape.tokens_per_rank = tokens_per_rank;
  shape.chunk_shift = static_cast<std::uint32_t>(std::countr_zero(chunk_tokens));
  shape.routes_all = routes_all;
  return shape;
}

/// Whether a block routes all tokens at once: what fits, and is read by every block.
constexpr bool routes_all(std::uint64_t tokens_per_rank, const layout::extents& dims, const phase_plan& plan) {
  constexpr std::uint64_t most_tokens = 1024;
  return tokens_per_rank <= most_tokens &&
         scratch_bytes(dispatch_shape(tokens_per_rank, dims, plan.chunk_tokens, true)) <=
             most_bytes_to_route_all(static_cast<std::uint32_t>(plan.block_threads));
}

/// `max_blocks` 0: no further bound.
constexpr launch_plan plan_launches(std::uint64_t tokens_per_rank, const layout::extents& dims,
                                    const device_share& share, int max_blocks) {
  const auto twice = 2 * share.multiprocessors;
  const bool wide = share.wide_places() >= twice;
  const auto threads = wide ? wide_block : narrow_block;
  const auto most_blocks = halves_launches(tokens_per_rank) ? share.multiprocessors : twice;
  const auto shape = [&](std::uint64_t chunk_tokens, std::uint64_t roles, int most_wide_blocks) {
    phase_plan plan;
    plan.chunk_tokens = chunk_tokens;
    plan.block_threads = static_cast<int>(threads);
    const auto wanted = static_cast<int>(std::min<std::uint64_t>(roles, 1U << 15));
    plan.num_blocks = std::min(wanted, wide ? most_wide_blocks : share.narrow_places());
    if (max_blocks > 0) plan.num_blocks = std::min(plan.num_blocks, max_blocks);
    return plan;
  };
  const auto roles_for = [&](std::uint64_t tokens_each) { return (tokens_per_rank + tokens_each - 1) / tokens_each; };
  launch_plan plan;
  const auto dispatch_chunk = dispatch_chunk_tokens(tokens_per_rank, threads);
  plan.dispatch = shape(
      dispatch_chunk, roles_for(dispatch_chunk) + dims.ep_size * protocol::receive_parts(tokens_per_rank), most_blocks);
  plan.routes_all = routes_all(tokens_per_rank, dims, plan.dispatch);
  plan.reduce_tokens = sum_tokens_for(tokens_per_rank);
  const auto combine_chunk = combine_chunk_tokens(tokens_per_rank, dims);
  plan.combine = shape(combine_chunk,
                       2 * dims.ep_size + (dims.ep_size - 1) * roles_for(combine_chunk) + roles_for(plan.reduce_tokens),
                       most_blocks);
  plan.senders = senders_of(tokens_per_rank, plan.combine.num_blocks);
  return plan;
}

/// Of a Lamport step: a worker for each token, or for each row of a peer's, as long as the next launch finds room
/// beside them; then each has several. One block more is the clerk.
constexpr launch_plan plan_lamport(std::uint64_t tokens_per_rank, const layout::extents& dims,
                                   const device_share& share, int max_blocks) {
  const bool wide = share.wide_places() >= 2 * share.multiprocessors;
  auto most =
      std::min(wide ? share.multiprocessors : share.narrow_places(), static_cast<int>(layout::max_lamport_blocks));
  if (max_blocks > 0) most = std::min(most, max_blocks);
  const auto rows = tokens_per_rank * std::max<std::uint64_t>(1, dims.ep_size - 1);
  launch_plan plan;
  plan.dispatch.block_threads = static_cast<int>(wide ? wide_block : narrow_block);
  plan.dispatch.num_blocks = static_cast<int>(std::min<std::uint64_t>(rows + 1, static_cast<std::uint64_t>(most)));
  plan.combine = plan.dispatch;
  return plan;
}

/// A Lamport combine of rows of so many bytes: wide blocks move multiples of 4 alone, which is what all but outputs of
/// odd sizes are.
constexpr phase_plan lamport_combine_of(phase_plan plan, std::uint64_t row_bytes, const device_share& share) {
  if (row_bytes % 4 == 0) return plan;
  plan.block_threads = static_cast<int>(narrow_block);
  plan.num_blocks = std::min(plan.num_blocks, share.narrow_places());
  return plan;
}

/// What any step of a workspace may ask for that does not route all tokens at once: the most tokens that a block has at
/// a time, or what a Lamport phase keeps.
constexpr scratch_need most_scratch_bytes(const layout::extents& dims) {
  auto sends = dispatch_shape(dims.max_tokens, dims, 4, false);
  protocol::combine_params sums;
  sums.ws.layout.dims = dims;
  sums.reduce_shift = 1;
  const scratch_need by_fence{scratch_bytes(sends), scratch_bytes(sums)};
  for (auto* words : {&sends.words, &sums.words}) {
    protocol::set(*words, protocol::header_word::transport, static_cast<std::uint32_t>(transport::lamport));
  }
  return {std::max(by_fence.dispatch, scratch_bytes(sends)), std::max(by_fence.combine, scratch_bytes(sums))};
}

}  // namespace switchyard::cuda
