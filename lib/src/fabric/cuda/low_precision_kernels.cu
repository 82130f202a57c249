// SPDX-License-Identifier: Apache-2.0
// Combines in low precision. What dispatches is as without it.
#include "fabric/cuda/phase_kernels.hpp"
#include "fabric/cuda/quantising_block.cuh"
#include "fabric/cuda/thin_kernels.cuh"
#include "protocol/fence_combine.hpp"
#include "protocol/lamport_combine.hpp"

namespace switchyard::cuda {
namespace {

template <std::uint32_t block_threads>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    quantised_combine_kernel(const __grid_constant__ protocol::quantised_combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  quantising_block<block_threads> block(team, shared);
  protocol::fence_combine(block, params);
}

template <std::uint32_t block_threads>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    quantised_lamport_combine_kernel(const __grid_constant__ protocol::quantised_combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  quantising_block<block_threads> block(team, shared);
  protocol::lamport_combine(block, params);
}

}  // namespace

quantised_kernels quantised_kernels_of(std::uint32_t block_threads) {
  if (block_threads == narrow_block) {
    return {quantised_combine_kernel<narrow_block>, quantised_lamport_combine_kernel<narrow_block>};
  }
  return {quantised_combine_kernel<wide_block>, quantised_lamport_combine_kernel<wide_block>};
}

}  // namespace switchyard::cuda
