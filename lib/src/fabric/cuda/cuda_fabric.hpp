// SPDX-License-Identifier: Apache-2.0
// Workspaces in GPU memory, ranks as threads of one process, one or several on each GPU.
#pragma once

#include <memory>

#include "fabric/cuda/phase_kernels.hpp"
#include "fabric/fabric.hpp"

namespace switchyard::cuda {

/// The fabric, or one that says that this build has none.
std::shared_ptr<fabric> make_cuda_fabric();
/// The fabric with kernels of the caller's, for a bench. Only in builds that have one.
std::shared_ptr<fabric> make_cuda_fabric(const kernel_set& kernels);

}  // namespace switchyard::cuda
