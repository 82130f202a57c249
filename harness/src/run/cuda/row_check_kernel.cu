// SPDX-License-Identifier: Apache-2.0
// Makes each row anew, word by word, and compares it with what lies there.
#include "row_check_kernel.hpp"

#include "gpu_lane.hpp"

namespace switchyard::harness {
namespace {

constexpr int blocks = 128;
constexpr int threads = 128;
constexpr unsigned word_bytes = 8;

__global__ void __launch_bounds__(threads) row_check_kernel(const __grid_constant__ checked_rows what) {
  for (std::uint64_t row = blockIdx.x; row < what.num_rows; row += gridDim.x) {
    const auto token = what.tokens[row];
    if (token < 0) continue;
    const row_words expected(what.law, static_cast<int>(row / what.tokens_per_rank), token);
    const auto* bytes = what.rows + row * what.law.row_bytes;
    int differs = 0;
    for (std::uint64_t first = threadIdx.x * word_bytes; first < what.law.row_bytes; first += blockDim.x * word_bytes) {
      auto word = expected.at(first / word_bytes);
      for (unsigned i = 0; i < word_bytes && first + i < what.law.row_bytes; ++i, word >>= 8) {
        differs |= static_cast<std::uint8_t>(bytes[first + i]) != static_cast<std::uint8_t>(word);
      }
    }
    if (__syncthreads_or(differs) == 0 || threadIdx.x != 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(&what.found->wrong), 1ULL);
    atomicMin(reinterpret_cast<unsigned long long*>(&what.found->first), static_cast<unsigned long long>(row));
  }
}

}  // namespace

void launch_row_check(const checked_rows& what, cudaStream_t stream) {
  row_check_kernel<<<blocks, threads, 0, stream>>>(what);
  check_cuda(cudaGetLastError(), "checking rows");
}

}  // namespace switchyard::harness
