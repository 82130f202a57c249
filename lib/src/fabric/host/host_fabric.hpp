// SPDX-License-Identifier: Apache-2.0
// Workspaces in CPU memory, ranks as threads of one process.
#pragma once

#include <functional>
#include <memory>

#include "fabric/fabric.hpp"
#include "fabric/host/host_block.hpp"

namespace switchyard::host {

/// The bodies that a launch runs, once per block. The default ones run the protocol on the plain block; a decorated
/// block (fault injection) comes in by other bodies.
struct host_kernels {
  std::function<void(host_block&, const protocol::dispatch_params&)> dispatch;
  std::function<void(host_block&, const protocol::combine_params&)> combine;
};

host_kernels production_kernels();

/// `kernels` are shared by all workspaces that the fabric opens.
std::shared_ptr<fabric> make_host_fabric(host_kernels kernels = production_kernels());

}  // namespace switchyard::host
