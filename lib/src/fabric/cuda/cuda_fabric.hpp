// SPDX-License-Identifier: Apache-2.0
// Workspaces in GPU memory, ranks as threads of one process, one or several on each GPU.
#pragma once

#include <memory>

#include "fabric/fabric.hpp"

namespace switchyard::cuda {

/// The fabric, or one that says that this build has none.
std::shared_ptr<fabric> make_cuda_fabric();

}  // namespace switchyard::cuda
