// SPDX-License-Identifier: Apache-2.0
// What a rank takes of a GPU's memory.
#include "case_state.hpp"
#include "rank_device.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/machine.hpp"

namespace switchyard::harness {
namespace {

// Memory that is mapped by hand comes in pieces of this size, and the runtime's own comes in no larger ones.
constexpr std::size_t granularity = std::size_t{2} << 20;

constexpr std::size_t rounded_up(std::size_t bytes) { return (bytes + granularity - 1) / granularity * granularity; }

}  // namespace

std::size_t required_device_bytes(const case_spec& spec) {
  // Behind the workspace lies a table of the ranks' addresses.
  const auto slice_of = [&](const comm_params& params) {
    return rounded_up(workspace_bytes(params, config_of(spec), spec.ep_size) + workspace_guard_bytes +
                      static_cast<std::size_t>(spec.ep_size) * sizeof(std::byte*));
  };
  return slice_of(workspace_params_of(spec)) + (spec.side_workspace_every > 0 ? slice_of(side_params_of(spec)) : 0) +
         rounded_up(separate_device::block_bytes(spec) + row_check_bytes(spec) + replay_bytes(spec));
}

}  // namespace switchyard::harness
