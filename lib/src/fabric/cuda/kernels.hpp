// SPDX-License-Identifier: Apache-2.0
// The kernels as host code sees them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "fabric/cuda/block_shape.hpp"
#include "fabric/cuda/phase_kernels.hpp"
#include "protocol/params.hpp"

namespace switchyard::cuda {

struct launch_options {
  std::uint32_t num_blocks = 1;
  std::uint32_t block_threads = 0;  ///< wide_block or narrow_block
  std::uint64_t scratch_bytes = 0;
  cudaStream_t stream = nullptr;
  /// Lets the launch begin before the previous one on the stream has ended; its blocks wait for that in place.
  bool programmatic = false;
};

/// Loads the kernels of the set that a workspace of these dimensions may need on the current device, and runs each once
/// on nothing, on `stream`, so that no code is loaded and no stack is made room for while a peer waits; allows each its
/// scratch. Waits for the stream. Returns how many blocks of each width fit a multiprocessor, 0 when the scratch is
/// more than there is. Throws cuda_error.
kernel_room prepare_kernels(const kernel_set& set, const layout::extents& dims, const scratch_need& scratch,
                            cudaStream_t stream);

/// Enqueue on the current device. Throw cuda_error.
void launch_kernel(const kernel_set& set, const protocol::dispatch_params& params, const launch_options& options);
void launch_kernel(const kernel_set& set, const protocol::combine_params& params, const launch_options& options);
/// One warp that does what abort() must do on the device.
void launch_abort(const protocol::workspace_handle& workspace, cudaStream_t stream);

/// Stores the mask of the dispatches behind it on the stream: a node of its own where a graph is captured.
struct mask_places {
  layout::rank_mask_words* mask = nullptr;
  layout::notice_words* notice = nullptr;
};
/// `word`: layout::mask_word_of(mask).
void launch_set_mask(const mask_places& places, const rank_set& mask, std::uint32_t word, cudaStream_t stream);

}  // namespace switchyard::cuda
