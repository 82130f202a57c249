// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "../row_words.hpp"

namespace switchyard::harness {

struct rows_found {
  std::uint64_t wrong = 0;
  std::uint64_t first = ~std::uint64_t{0};
};

/// Rows of one payload at a receiver; row / T is the source.
struct checked_rows {
  const std::byte* rows = nullptr;
  const std::int64_t* tokens = nullptr;  ///< at the source, of each row; below 0: the row holds none
  std::uint64_t num_rows = 0;
  std::uint64_t tokens_per_rank = 1;  ///< T
  payload_law law;
  rows_found* found = nullptr;  ///< of the device; what is found is added
};

/// Enqueues on the current device; throws cuda_error.
void launch_row_check(const checked_rows& what, cudaStream_t stream);

}  // namespace switchyard::harness
