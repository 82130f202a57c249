// SPDX-License-Identifier: Apache-2.0
#include "opened_workspace.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "construction.hpp"
#include "describe_fault.hpp"
#include "fabric/cuda/cuda_fabric.hpp"
#include "fabric/host/host_fabric.hpp"
#include "rules.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

std::shared_ptr<fabric> fabric_of(const bootstrap& boot) {
  auto chosen = boot.custom_fabric ? boot.custom_fabric : built_in_fabric(boot.kind);
  if (!chosen)
    throw invalid_argument("bootstrap: kind is " + std::to_string(static_cast<int>(boot.kind)) + ", unknown");
  return chosen;
}

void check_bootstrap(const bootstrap& boot) {
  if (boot.comm_backend->size() != boot.ep_size) {
    throw invalid_argument("bootstrap: ep_size is " + std::to_string(boot.ep_size) + ", must be comm_backend's size " +
                           std::to_string(boot.comm_backend->size()));
  }
  if (boot.comm_backend->rank() != boot.rank) {
    throw invalid_argument("bootstrap: rank is " + std::to_string(boot.rank) + ", must be comm_backend's rank " +
                           std::to_string(boot.comm_backend->rank()));
  }
}

workspace_key key_of(const bootstrap& boot, const workspace_request& request) {
  workspace_key key;
  key.group = boot.comm_backend->group_id();
  for (int place = 0; place < boot.ep_size; ++place) insert(key.members, boot.comm_backend->name_of(place));
  key.rank = boot.rank;
  key.ep_size = boot.ep_size;
  key.kind = boot.kind;
  key.custom_fabric = boot.custom_fabric.get();
  key.device = boot.device;
  key.dims = request.layout.dims;
  key.timeout_ns = request.timeout_ns;
  key.warmup_timeout_ns = request.warmup_timeout_ns;
  key.enable_pdl = request.enable_pdl;
  key.first_epoch = request.first_epoch;
  key.host_memory = request.host_memory;
  return key;
}

/// Whether another instance may come to share it.
void check_joinable(const shared_workspace& workspace) {
  workspace.require_usable("the workspace that it would share");
  if (const auto fault = workspace->fault()) {
    throw state_error("the workspace that it would share is poisoned, recover() first: " + describe(*fault));
  }
}

}  // namespace

std::shared_ptr<fabric> built_in_fabric(fabric_kind kind) {
  switch (kind) {
    case fabric_kind::host: return host::make_host_fabric();
    case fabric_kind::cuda: return cuda::make_cuda_fabric();
  }
  return nullptr;
}

opened_workspace open_workspace(const bootstrap& boot, const comm_params& params, const one_sided_config& config) {
  opened_workspace opened;
  auto& workspace = opened.workspace;
  // The deadline of the meeting itself; a config that breaks its rule is reported by the meeting.
  const auto warmup = std::clamp<std::chrono::nanoseconds>(effective_warmup(config), std::chrono::milliseconds(1),
                                                           std::chrono::hours(24));
  group_terms terms{params, config, boot.ep_size, boot.kind, 0, 0, boot.first_epoch, 0};
  auto& registry = workspace_registry::of_process();
  bool is_new = false;
  agree_on_construction(*boot.comm_backend, terms, warmup, [&] {
    const auto fabric = fabric_of(boot);
    check_bootstrap(boot);
    check_group(params, config, boot.ep_size);
    if (boot.first_epoch == 0) throw invalid_argument("bootstrap: first_epoch is 0, must not be");
    if (const auto usable = fabric->available(boot.device); !usable.available) throw unsupported(usable.reason);
    if (config.enable_pdl == choice::on && fabric->stream_kind() != fabric_kind::cuda) {
      throw unsupported("enable_pdl is on, but launches overlap on GPUs only");
    }
    workspace_request request;
    request.rank = boot.rank;
    request.ep_size = boot.ep_size;
    request.device = boot.device;
    request.layout = layout::make_layout(extents_of(params, config, boot.ep_size));
    request.timeout_ns = static_cast<std::uint64_t>(config.timeout.count());
    request.warmup_timeout_ns = static_cast<std::uint64_t>(warmup.count());
    request.first_epoch = boot.first_epoch;
    request.enable_pdl = config.enable_pdl;
    request.processes_may_share_gpu = boot.processes_may_share_gpu;
    request.host_memory = boot.host_memory;
    opened.layout = request.layout;
    terms.workspace_bytes = opened.layout.total_bytes;
    terms.layout_digest = layout::digest_of(opened.layout);
    const auto key = key_of(boot, request);
    workspace = registry.find(key);
    terms.instance = registry.next_number(workspace);
    is_new = !workspace;
    if (is_new) {
      workspace = std::make_shared<shared_workspace>(key, fabric, fabric->open(request));
    } else {
      check_joinable(*workspace);
    }
  });
  if (is_new) {
    (*workspace)->connect(*boot.comm_backend, warmup);
    workspace->backend = boot.comm_backend;
  }
  opened.instance = registry.enter(workspace);
  return opened;
}

}  // namespace switchyard
