// SPDX-License-Identifier: Apache-2.0
// Launches of the kernels, and those kernels that are of no phase.
#include "fabric/cuda/kernels.hpp"

#include <algorithm>

#include "fabric/cuda/cuda_block.cuh"
#include "fabric/cuda/driver_api.hpp"
#include "fabric/cuda/phase_kernels.hpp"
#include "protocol/fault.hpp"

namespace switchyard::cuda {
namespace {

// Beside whatever runs: it touches nothing but words that blocks and the host race for.
__global__ void abort_kernel(const __grid_constant__ protocol::workspace_handle workspace) {
  __shared__ team_words team;
  if (threadIdx.x != 0 || workspace.self == nullptr) return;
  cuda_block<wide_block> block(team, nullptr);  // it has no use for scratch
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

/// Loads the kernels of one width and allows them their shared memory. Returns how many blocks of any of them fit a
/// multiprocessor, 0 when the scratch is more than there is.
int prepare_width(std::uint32_t block_threads, const kernel_set& set, const layout::extents& dims,
                  const scratch_need& scratch, std::uint64_t allowed, cudaStream_t stream) {
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
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, static_cast<int>(block_threads), asked),
          "occupancy of a kernel");
    return fit;
  };
  const auto& kernels = set.of(block_threads, dims);
  const auto quantised = quantised_kernels_of(block_threads);
  // Lamport dispatches never route all tokens at once.
  auto fit = std::min(prepare(kernels.lamport_dispatch, scratch.dispatch),
                      prepare(kernels.dispatch, std::max(scratch.dispatch, most_bytes_to_route_all(block_threads))));
  const auto for_each_combine = [&](const auto& call) {
    if (dims.in_low_precision()) {
      call(quantised.combine);
      return call(quantised.lamport_combine);
    }
    for (auto* kernel : kernels.combine) call(kernel);
    for (auto* kernel : kernels.lamport_combine) call(kernel);
  };
  for_each_combine([&](auto* kernel) { fit = std::min(fit, prepare(kernel, scratch.combine)); });
  if (fit == 0) return 0;
  // A first launch may make room for the kernel's stack, and wait for the whole device to do so.
  const launch_options sending{1, block_threads, scratch.dispatch, stream};
  const launch_options summing{1, block_threads, scratch.combine, stream};
  for (auto* kernel : {kernels.dispatch, kernels.lamport_dispatch}) {
    launch(kernel, protocol::dispatch_params{}, sending, "launching dispatch on nothing");
  }
  for_each_combine([&](auto* kernel) { launch(kernel, {}, summing, "launching combine on nothing"); });
  return fit;
}

}  // namespace

kernel_room prepare_kernels(const kernel_set& set, const layout::extents& dims, const scratch_need& scratch,
                            cudaStream_t stream) {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, abort_kernel), "loading the abort kernel");
  int device = 0;
  int allowed = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&allowed, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory of a block");
  const auto most = static_cast<std::uint64_t>(allowed);
  kernel_room room;
  room.wide = prepare_width(wide_block, set, dims, scratch, most, stream);
  room.narrow = prepare_width(narrow_block, set, dims, scratch, most, stream);
  launch_abort({}, stream);
  launch_set_mask({}, {}, 0, stream);
  check(cudaStreamSynchronize(stream), "running the kernels on nothing");
  return room;
}

void launch_kernel(const kernel_set& set, const protocol::dispatch_params& params, const launch_options& options) {
  const auto& kernels = set.of(options.block_threads, params.ws.layout.dims);
  launch(kernels.of(params), params, options, "launching dispatch");
}

void launch_kernel(const kernel_set& set, const protocol::combine_params& params, const launch_options& options) {
  if (params.ws.layout.dims.in_low_precision()) {
    const auto kernels = quantised_kernels_of(options.block_threads);
    return launch(kernels.of(params), protocol::quantised_combine_params{params}, options, "launching combine");
  }
  const auto& kernels = set.of(options.block_threads, params.ws.layout.dims);
  launch(kernels.of(params), params, options, "launching combine");
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
