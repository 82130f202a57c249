// SPDX-License-Identifier: Apache-2.0
// How the host fabric cuts the phases of a step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "fabric/fabric.hpp"

namespace switchyard::host {

/// Chunks small enough that a peer can sum the first while later ones are copied, few enough that flags stay a small
/// part of a small step. `tokens_per_rank` >= 1, `max_chunks` that of the layout.
constexpr launch_plan plan_launches(std::uint64_t tokens_per_rank, std::uint64_t max_chunks, int num_workers,
                                    int max_blocks) {
  constexpr std::uint64_t word = 32;          // tokens per bitmap word
  constexpr std::uint64_t chunks_wanted = 8;  // a few per block for the one to three blocks of a rank
  std::uint64_t chunk_tokens = 2;
  if (tokens_per_rank > 8 * word) {
    chunk_tokens = std::bit_ceil((tokens_per_rank + chunks_wanted - 1) / chunks_wanted);
  } else if (tokens_per_rank > 8) {
    chunk_tokens = tokens_per_rank <= 2 * word ? 8 : word;
  }
  while ((tokens_per_rank + chunk_tokens - 1) / chunk_tokens > max_chunks) chunk_tokens *= 2;
  launch_plan plan;
  plan.dispatch.num_blocks = max_blocks > 0 ? max_blocks : num_workers;
  plan.dispatch.chunk_tokens = chunk_tokens;
  plan.combine = plan.dispatch;
  plan.routes_all = tokens_per_rank <= 2 * word;  // to no gain here: what GPUs do has to run where it is tested most
  plan.reduce_tokens = std::max<std::uint64_t>(1, chunk_tokens / 2);
  plan.senders = std::max(1, plan.combine.num_blocks / 2);
  return plan;
}

/// Of a Lamport step.
constexpr launch_plan plan_lamport(int num_workers, int max_blocks) {
  launch_plan plan;
  plan.dispatch.num_blocks =
      std::min(max_blocks > 0 ? max_blocks : num_workers, static_cast<int>(layout::max_lamport_blocks));
  plan.combine = plan.dispatch;
  return plan;
}

}  // namespace switchyard::host
