// SPDX-License-Identifier: Apache-2.0
// Thin kernels: they make a block and hand it to the protocol.
#include "fabric/cuda/kernels.hpp"

#include <algorithm>

#include "fabric/cuda/cuda_block.cuh"
#include "fabric/cuda/driver_api.hpp"
#include "protocol/fence_combine.hpp"
#include "protocol/fence_dispatch.hpp"

namespace switchyard::cuda {
namespace {

extern __shared__ std::uint32_t scratch[];

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
__global__ void __launch_bounds__(block_threads, threads_per_multiprocessor / block_threads)
    dispatch_kernel(const __grid_constant__ protocol::dispatch_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads> block(team, scratch);
  protocol::fence_dispatch(block, params);
}

template <std::uint32_t block_threads>
__global__ void __launch_bounds__(block_threads, threads_per_multiprocessor / block_threads)
    combine_kernel(const __grid_constant__ protocol::combine_params params) {
  __shared__ team_words team;
  fetch_parameters(params);
  wait_for_previous_launch();
  if (params.ws.self == nullptr) return;
  cuda_block<block_threads> block(team, scratch);
  protocol::fence_combine(block, params);
}

// Beside whatever runs: it touches nothing but words that blocks and the host race for.
__global__ void abort_kernel(const __grid_constant__ protocol::workspace_handle workspace) {
  __shared__ team_words team;
  if (threadIdx.x != 0 || workspace.self == nullptr) return;
  cuda_block<narrow_block> block(team, scratch);
  protocol::abort_workspace(block, workspace);
}

template <class Params>
void launch(void (*kernel)(Params), const Params& params, const launch_options& options, const char* what) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(options.num_blocks);
  config.blockDim = dim3(options.block_threads);
  config.dynamicSmemBytes = options.scratch_bytes;
  config.stream = options.stream;
  config.attrs = &early;
  config.numAttrs = options.programmatic ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, params), what);
}

}  // namespace

namespace {

/// Loads both kernels of one width and allows dispatch its scratch. Returns how many narrow blocks' worth of them fit a
/// multiprocessor, 0 when the scratch is more than there is.
template <std::uint32_t block_threads>
int prepare_width(std::uint64_t scratch_bytes, std::uint64_t allowed, cudaStream_t stream) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, dispatch_kernel<block_threads>), "loading the dispatch kernel");
  if (scratch_bytes + attributes.sharedSizeBytes > allowed) return 0;
  // All that there is, so that a workspace that needs less takes nothing away from one that needs more.
  check(cudaFuncSetAttribute(dispatch_kernel<block_threads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(allowed - attributes.sharedSizeBytes)),
        "shared memory for the dispatch kernel");
  int for_dispatch = 0;
  int for_combine = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&for_dispatch, dispatch_kernel<block_threads>, block_threads,
                                                      scratch_bytes),
        "occupancy of the dispatch kernel");
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&for_combine, combine_kernel<block_threads>, block_threads,
                                                      combine_scratch_bytes),
        "occupancy of the combine kernel");
  const auto fit = std::min(for_dispatch, for_combine);
  if (fit == 0) return 0;
  // A first launch may make room for the kernel's stack, and wait for the whole device to do so.
  launch_kernel(protocol::dispatch_params{}, {1, block_threads, scratch_bytes, stream});
  launch_kernel(protocol::combine_params{}, {1, block_threads, combine_scratch_bytes, stream});
  return fit * static_cast<int>(block_threads / narrow_block);
}

}  // namespace

int prepare_kernels(std::uint64_t scratch_bytes, cudaStream_t stream) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, abort_kernel), "loading the abort kernel");
  int device = 0;
  int allowed = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&allowed, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory of a block");
  const auto most = static_cast<std::uint64_t>(allowed);
  const auto fit = std::min(prepare_width<wide_block>(scratch_bytes, most, stream),
                            prepare_width<narrow_block>(scratch_bytes, most, stream));
  if (fit == 0) return 0;
  launch_abort({}, stream);
  check(cudaStreamSynchronize(stream), "running the kernels on nothing");
  return fit;
}

void launch_kernel(const protocol::dispatch_params& params, const launch_options& options) {
  const auto kernel = options.block_threads == wide_block ? dispatch_kernel<wide_block> : dispatch_kernel<narrow_block>;
  launch(kernel, params, options, "launching dispatch");
}

void launch_kernel(const protocol::combine_params& params, const launch_options& options) {
  const auto kernel = options.block_threads == wide_block ? combine_kernel<wide_block> : combine_kernel<narrow_block>;
  launch(kernel, params, options, "launching combine");
}

void launch_abort(const protocol::workspace_handle& workspace, cudaStream_t stream) {
  abort_kernel<<<1, 32, 0, stream>>>(workspace);
  check(cudaGetLastError(), "launching abort");
}

}  // namespace switchyard::cuda
