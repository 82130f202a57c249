// SPDX-License-Identifier: Apache-2.0
// What a step needs beside NCCL's calls, and what checks it. All enqueue on the current device and throw cuda_error.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "switchyard/harness/generator.hpp"
#include "switchyard/spec/dtypes.hpp"

namespace switchyard::harness {

/// One payload within a packed row.
struct row_piece {
  const std::byte* from = nullptr;  ///< [tokens, row_bytes]
  std::uint32_t row_bytes = 0;      ///< 0: does not travel
  std::uint32_t offset = 0;         ///< in the packed row, a multiple of 16
};

struct pack_parameters {
  std::array<row_piece, all_payloads.size()> pieces{};
  std::uint32_t pitch_bytes = 0;  ///< of packed rows, a multiple of 16
  std::uint32_t rows = 0;
  const std::int32_t* tokens = nullptr;
  const std::int32_t* places = nullptr;  ///< see exact_rows
  std::byte* remote = nullptr;
  std::byte* local = nullptr;
};
void launch_pack(const pack_parameters& parameters, cudaStream_t stream);

struct sum_parameters {
  const std::byte* remote = nullptr;
  const std::byte* local = nullptr;
  const std::int32_t* places = nullptr;  ///< [tokens, ranks]
  std::byte* out = nullptr;              ///< [tokens, elements]
  std::uint32_t tokens = 0;
  std::uint32_t ranks = 0;
  std::uint32_t elements = 0;  ///< a multiple of 8, 16 bits each
  dtype type = dtype::bf16;
};
/// Sums in fp32, rounds once.
void launch_sum(const sum_parameters& parameters, cudaStream_t stream);

struct exact_rows_parameters {
  std::byte* out = nullptr;              ///< [rows, elements]
  const std::int32_t* tokens = nullptr;  ///< [rows] number among all ranks' tokens; -1: a row of zeros
  std::uint32_t rows = 0;
  std::uint32_t elements = 0;
  std::uint32_t rank = 0;  ///< whose experts
  dtype type = dtype::bf16;
};
/// Rows of exact_element.
void launch_exact_rows(const exact_rows_parameters& parameters, cudaStream_t stream);

struct sum_check_parameters {
  const std::byte* is = nullptr;  ///< [tokens, elements]
  const std::uint32_t* owner_mask = nullptr;
  std::uint32_t tokens = 0;
  std::uint32_t first_token = 0;  ///< number of the first one among all ranks' tokens
  std::uint32_t elements = 0;
  dtype type = dtype::bf16;
  unsigned long long* wrong = nullptr;
};
/// Adds to `wrong` how many elements are not the sum of their owners' exact_element.
void launch_sum_check(const sum_check_parameters& parameters, cudaStream_t stream);

}  // namespace switchyard::harness
