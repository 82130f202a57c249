// SPDX-License-Identifier: Apache-2.0
// One rank's workspace on a GPU.
#pragma once

#include <memory>

#include "fabric/cuda/cuda_fabric.hpp"
#include "fabric/cuda/driver_api.hpp"
#include "fabric/cuda/phase_kernels.hpp"

namespace switchyard::cuda {

/// Local: loads kernels and reserves addresses; memory comes with connect(). Throws cuda_error, unsupported.
std::unique_ptr<fabric_workspace> make_workspace(const driver_api& api, const kernel_set& kernels,
                                                 const workspace_request& request);

}  // namespace switchyard::cuda
