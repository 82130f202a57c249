// SPDX-License-Identifier: Apache-2.0
// Workspaces in GPU memory, ranks as threads of one process, one or several on each GPU.
#pragma once

#include <memory>

#include "fabric/fabric.hpp"

namespace switchyard::cuda {

/// Whether a phase may begin to launch before the work ahead of it on the stream has ended.
enum class launch_overlap : std::uint8_t { none, programmatic };

/// The fabric, or one that says that this build has none.
std::shared_ptr<fabric> make_cuda_fabric(launch_overlap overlap = launch_overlap::none);

}  // namespace switchyard::cuda
