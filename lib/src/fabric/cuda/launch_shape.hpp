// SPDX-License-Identifier: Apache-2.0
// How the CUDA fabric cuts a phase. Host code without a device, so that it is tested without one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fabric/fabric.hpp"

namespace switchyard::cuda {

/// Threads of a block. Two such blocks fit a multiprocessor's registers at 64 each, and a row of 7168 bf16 is less than
/// two 16-byte accesses a thread.
inline constexpr std::uint32_t block_threads = 512;

/// Blocks that one rank may launch so that all ranks of its device are resident together: a block that waits for a peer
/// holds its place, and a peer without any place would never come. One multiprocessor stays free, for abort().
constexpr int resident_blocks(int multiprocessors, int blocks_per_multiprocessor, int ranks_on_device,
                              int launches_at_once) {
  return (multiprocessors - 1) * blocks_per_multiprocessor / (ranks_on_device * launches_at_once);
}

/// Tokens under one flag, a function of T alone because ranks must agree on it: some 128 chunks, one for nearly every
/// multiprocessor of an H200: rows of more blocks hide each other's waits (results/h200x2-nv18/LOG.md). A power of
/// two below 32, else a multiple of 32: a chunk shares no bitmap word that it does not fill.
constexpr std::uint64_t chunk_tokens_for(std::uint64_t tokens_per_rank) {
  constexpr std::uint64_t chunks_wanted = 128;
  constexpr std::uint64_t word = 32;
  const auto even = (tokens_per_rank + chunks_wanted - 1) / chunks_wanted;
  if (even > word) return (even + word - 1) / word * word;
  std::uint64_t chunk = 1;
  while (chunk < even) chunk *= 2;
  return chunk;
}

/// `resident` >= 1; `max_blocks` 0: no further bound. chunk_tokens_for makes at most min(T, 128) chunks, which every
/// layout has flags for.
constexpr launch_plan plan_phase(std::uint64_t tokens_per_rank, std::uint64_t ep_size, int resident, int max_blocks) {
  launch_plan plan;
  plan.chunk_tokens = chunk_tokens_for(tokens_per_rank);
  plan.reduce_tokens = plan.chunk_tokens;
  const auto chunks = (tokens_per_rank + plan.chunk_tokens - 1) / plan.chunk_tokens;
  // Of combine, which has more of them: offers, checks, sums.
  const auto roles = static_cast<int>(chunks + 2 * ep_size);
  plan.num_blocks = std::min(resident, roles);
  if (max_blocks > 0) plan.num_blocks = std::min(plan.num_blocks, max_blocks);
  return plan;
}

/// Bytes of shared memory that a dispatch of T tokens asks for beyond the team's own words.
constexpr std::uint64_t scratch_bytes(std::uint64_t tokens_per_rank, const layout::extents& dims) {
  protocol::dispatch_params shape;
  shape.ws.ep_size = static_cast<std::int32_t>(dims.ep_size);
  shape.ws.layout.dims = dims;
  shape.chunk_tokens = chunk_tokens_for(tokens_per_rank);
  return protocol::scratch_words(shape) * sizeof(std::uint32_t);
}

}  // namespace switchyard::cuda
