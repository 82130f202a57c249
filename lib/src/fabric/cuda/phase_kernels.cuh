// SPDX-License-Identifier: Apache-2.0
// Thin kernels: they make a block and hand it to the protocol.
#pragma once

#include "fabric/cuda/cuda_block.cuh"
#include "fabric/cuda/phase_kernels.hpp"
#include "fabric/cuda/thin_kernels.cuh"
#include "protocol/fence_combine.hpp"
#include "protocol/fence_dispatch.hpp"
#include "protocol/lamport_combine.hpp"
#include "protocol/lamport_dispatch.hpp"

namespace switchyard::cuda {
namespace {

// A null workspace asks for nothing: that is how a kernel is brought onto a device before anybody waits for it.
// Nothing is read or written before the previous launch on the stream has ended (invariant 10).
template <std::uint32_t block_threads, block_kind kind>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    dispatch_kernel(const __grid_constant__ protocol::dispatch_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads, kind> block(team, shared);
  protocol::fence_dispatch(block, params);
}

template <std::uint32_t block_threads, block_kind kind, dtype type>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    combine_kernel(const __grid_constant__ protocol::combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads, kind, type> block(team, shared);
  protocol::fence_combine(block, params);
}

template <std::uint32_t block_threads, block_kind kind>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    lamport_dispatch_kernel(const __grid_constant__ protocol::dispatch_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads, kind> block(team, shared);
  protocol::lamport_dispatch(block, params);
}

template <std::uint32_t block_threads, block_kind kind, dtype type>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    lamport_combine_kernel(const __grid_constant__ protocol::combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads, kind, type> block(team, shared);
  protocol::lamport_combine(block, params);
}

template <std::uint32_t block_threads, block_kind kind>
phase_kernels kernels_of_blocks() {
  static_assert(cuda_block<block_threads, kind>::may_mask == (kind == block_kind::full));
  static_assert(static_cast<std::size_t>(dtype::bf16) == 0 && static_cast<std::size_t>(dtype::fp16) == 1 &&
                static_cast<std::size_t>(dtype::fp32) == 2);
  return {dispatch_kernel<block_threads, kind>,
          lamport_dispatch_kernel<block_threads, kind>,
          {combine_kernel<block_threads, kind, dtype::bf16>, combine_kernel<block_threads, kind, dtype::fp16>,
           combine_kernel<block_threads, kind, dtype::fp32>},
          {lamport_combine_kernel<block_threads, kind, dtype::bf16>,
           lamport_combine_kernel<block_threads, kind, dtype::fp16>,
           lamport_combine_kernel<block_threads, kind, dtype::fp32>}};
}

}  // namespace
}  // namespace switchyard::cuda
