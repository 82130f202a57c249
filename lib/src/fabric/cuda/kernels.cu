// SPDX-License-Identifier: Apache-2.0
// Thin kernels: they make a block and hand it to the protocol.
#include "fabric/cuda/kernels.hpp"

#include <algorithm>

#include "fabric/cuda/cuda_block.cuh"
#include "fabric/cuda/driver_api.hpp"
#include "protocol/fence_combine.hpp"
#include "protocol/fence_dispatch.hpp"
#include "protocol/lamport_combine.hpp"
#include "protocol/lamport_dispatch.hpp"

namespace switchyard::cuda {
namespace {

extern __shared__ __align__(128) std::byte shared[];

/// Brings the parameters near, all of them at once: their first use would wait for each line in turn.
template <class Params>
__device__ __forceinline__ void fetch_parameters(const Params& params) {
  constexpr std::uint32_t line_words = 16;
  const auto* words = reinterpret_cast<const std::uint32_t*>(&params);
#pragma unroll
  for (std::uint32_t i = 0; i < sizeof(Params) / sizeof(*words); i += line_words) asm volatile("" ::"r"(words[i]));
}

// A null workspace asks for nothing: that is how a kernel is brought onto a device before anybody waits for it.
// Nothing is read or written before the previous launch on the stream has ended (invariant 10).
template <std::uint32_t block_threads>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    dispatch_kernel(const __grid_constant__ protocol::dispatch_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads> block(team, shared);
  protocol::fence_dispatch(block, params);
}

template <std::uint32_t block_threads>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    combine_kernel(const __grid_constant__ protocol::combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads> block(team, shared);
  protocol::fence_combine(block, params);
}

template <std::uint32_t block_threads>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    lamport_dispatch_kernel(const __grid_constant__ protocol::dispatch_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads> block(team, shared);
  protocol::lamport_dispatch(block, params);
}

template <std::uint32_t block_threads, dtype type>
__global__ void __launch_bounds__(block_threads, least_blocks_per_multiprocessor(block_threads))
    lamport_combine_kernel(const __grid_constant__ protocol::combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads, type> block(team, shared);
  protocol::lamport_combine(block, params);
}

/// The kernel of the transport that a launch declares.
template <std::uint32_t block_threads>
auto kernel_for(const protocol::dispatch_params& params) {
  const bool lamport = protocol::transport_of(params.words) == transport::lamport;
  return lamport ? lamport_dispatch_kernel<block_threads> : dispatch_kernel<block_threads>;
}
template <std::uint32_t block_threads>
auto kernel_for(const protocol::combine_params& params) {
  const bool lamport = protocol::transport_of(params.words) == transport::lamport;
  if (!lamport) return combine_kernel<block_threads>;
  switch (params.type) {
    case dtype::fp16: return lamport_combine_kernel<block_threads, dtype::fp16>;
    case dtype::fp32: return lamport_combine_kernel<block_threads, dtype::fp32>;
    case dtype::bf16: break;
  }
  return lamport_combine_kernel<block_threads, dtype::bf16>;
}

// Beside whatever runs: it touches nothing but words that blocks and the host race for.
__global__ void abort_kernel(const __grid_constant__ protocol::workspace_handle workspace) {
  __shared__ team_words team;
  if (threadIdx.x != 0 || workspace.self == nullptr) return;
  cuda_block<wide_block> block(team, shared);
  protocol::abort_workspace(block, workspace);
}

__global__ void set_mask_kernel(const mask_places places, const __grid_constant__ rank_set mask, std::uint32_t word) {
  if (places.mask == nullptr || threadIdx.x >= mask.size()) return;
  places.mask->due[threadIdx.x] = mask[threadIdx.x];
  places.notice->heard[threadIdx.x] = mask[threadIdx.x];
  if (threadIdx.x == 0) places.mask->due_word = word;
}

template <class Params>
void launch(void (*kernel)(Params), const Params& params, const launch_options& options, const char* what) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(options.num_blocks);
  config.blockDim = dim3(options.block_threads);
  config.dynamicSmemBytes = stage_bytes_of_block(options.block_threads) + options.scratch_bytes;
  config.stream = options.stream;
  config.attrs = &early;
  config.numAttrs = options.programmatic ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, params), what);
}

}  // namespace

namespace {

/// Loads both kernels of one width and allows them their shared memory. Returns how many blocks of either fit a
/// multiprocessor, 0 when the scratch is more than there is.
template <std::uint32_t block_threads>
int prepare_width(const scratch_need& scratch, std::uint64_t allowed, cudaStream_t stream) {
  const auto prepare = [&](auto* kernel, std::uint64_t bytes) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "loading a kernel");
    const auto asked = stage_bytes_of_block(block_threads) + bytes;
    if (asked + attributes.sharedSizeBytes > allowed) return 0;
    // All that there is, so that a workspace that needs less takes nothing away from one that needs more.
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(allowed - attributes.sharedSizeBytes)),
          "shared memory for a kernel");
    // Split alike wherever ranks share a device: a block that spins keeps its multiprocessor as it is split, and a
    // peer's that finds too little shared memory there would wait for it for ever.
    if (block_threads == narrow_block) {
      check(
          cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
          "how a kernel splits the first-level cache");
    }
    int fit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, block_threads, asked), "occupancy of a kernel");
    return fit;
  };
  // Lamport dispatches never route all tokens at once.
  const auto lamport_combines =
      std::min({prepare(lamport_combine_kernel<block_threads, dtype::bf16>, scratch.combine),
                prepare(lamport_combine_kernel<block_threads, dtype::fp16>, scratch.combine),
                prepare(lamport_combine_kernel<block_threads, dtype::fp32>, scratch.combine)});
  const auto fit = std::min(
      {prepare(dispatch_kernel<block_threads>, std::max(scratch.dispatch, most_bytes_to_route_all(block_threads))),
       prepare(combine_kernel<block_threads>, scratch.combine),
       prepare(lamport_dispatch_kernel<block_threads>, scratch.dispatch), lamport_combines});
  if (fit == 0) return 0;
  // A first launch may make room for the kernel's stack, and wait for the whole device to do so.
  for (const auto by : {transport::fence, transport::lamport}) {
    protocol::dispatch_params dispatch;
    protocol::set(dispatch.words, protocol::header_word::transport, static_cast<std::uint32_t>(by));
    launch_kernel(dispatch, {1, block_threads, scratch.dispatch, stream});
    for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
      protocol::combine_params combine;
      combine.type = type;
      protocol::set(combine.words, protocol::header_word::transport, static_cast<std::uint32_t>(by));
      launch_kernel(combine, {1, block_threads, scratch.combine, stream});
    }
  }
  return fit;
}

}  // namespace

kernel_room prepare_kernels(const scratch_need& scratch, cudaStream_t stream) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, abort_kernel), "loading the abort kernel");
  int device = 0;
  int allowed = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&allowed, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory of a block");
  const auto most = static_cast<std::uint64_t>(allowed);
  kernel_room room;
  room.wide = prepare_width<wide_block>(scratch, most, stream);
  room.narrow = prepare_width<narrow_block>(scratch, most, stream);
  launch_abort({}, stream);
  launch_set_mask({}, {}, 0, stream);
  check(cudaStreamSynchronize(stream), "running the kernels on nothing");
  return room;
}

void launch_kernel(const protocol::dispatch_params& params, const launch_options& options) {
  const auto kernel =
      options.block_threads == wide_block ? kernel_for<wide_block>(params) : kernel_for<narrow_block>(params);
  launch(kernel, params, options, "launching dispatch");
}

void launch_kernel(const protocol::combine_params& params, const launch_options& options) {
  const auto kernel =
      options.block_threads == wide_block ? kernel_for<wide_block>(params) : kernel_for<narrow_block>(params);
  launch(kernel, params, options, "launching combine");
}

void launch_abort(const protocol::workspace_handle& workspace, cudaStream_t stream) {
  abort_kernel<<<1, 32, 0, stream>>>(workspace);
  check(cudaGetLastError(), "launching abort");
}

void launch_set_mask(const mask_places& places, const rank_set& mask, std::uint32_t word, cudaStream_t stream) {
  set_mask_kernel<<<1, 32, 0, stream>>>(places, mask, word);
  check(cudaGetLastError(), "launching the change of a mask");
}

}  // namespace switchyard::cuda
