// SPDX-License-Identifier: Apache-2.0
// What runs between the phases of a replayed step, as host code sees it. All enqueue on the current device and throw
// cuda_error.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "../kept_views.hpp"
#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/formats.hpp"

namespace switchyard::harness {

inline constexpr int most_areas = 8;  ///< the payloads, the statistics, the counts and the dropped routes

/// Bytes of a view, and where they are kept; both 16-byte aligned.
struct viewed_area {
  std::byte* view = nullptr;
  std::byte* kept = nullptr;
  std::uint64_t bytes = 0;
};

struct viewed_areas {
  viewed_area areas[most_areas];
  int count = 0;
};

/// Rows of the simulated experts of one rank; reference/simulated_expert.hpp says what they hold.
struct expert_shape {
  const std::byte* hidden = nullptr;
  const std::byte* scales = nullptr;  ///< of rows that have some
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;  ///< null: every weight is 1
  std::byte* rows = nullptr;
  std::uint64_t sources = 0;
  std::uint64_t tokens_per_rank = 0;  ///< T
  std::uint64_t hidden_row_bytes = 0;
  std::uint64_t scale_row_bytes = 0;
  std::uint64_t elements = 0;  ///< of a row that is computed, the first so many
  std::int32_t top_k = 0;
  std::int32_t first_expert = 0;  ///< of those that the rank owns
  std::int32_t num_owned = 0;
  dtype type = dtype::bf16;                        ///< of the rows that are made
  dtype hidden_type = dtype::bf16;                 ///< of the elements of hidden, unless they are quantised
  dispatch_format format = dispatch_format::bf16;  ///< of hidden, where it is quantised
  bool identity = false;                           ///< the factor of every expert is 1
};

/// kept = view, byte for byte.
void launch_keep(const viewed_areas& what, cudaStream_t stream);
void launch_experts(const expert_shape& shape, cudaStream_t stream);
/// Fills every view with words->poison, then ends words->pause_ns later.
void launch_poison(const viewed_areas& what, const replay_words* words, cudaStream_t stream);

}  // namespace switchyard::harness
