// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace switchyard::harness {

/// Enqueues on the current device; throws cuda_error.
void launch_fill(std::byte* place, int value, std::size_t bytes, cudaStream_t stream);

}  // namespace switchyard::harness
