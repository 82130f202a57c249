// SPDX-License-Identifier: Apache-2.0
// What lies in a rank's slice: its workspace, and behind it the table of the ranks' bases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/workspace_layout.hpp"

namespace switchyard::cuda {

/// Freeing memory of the table's own would wait for everything on the device.
constexpr std::uint64_t bases_offset(const layout::workspace_layout& layout) {
  return (layout.total_bytes + layout::region_alignment - 1) / layout::region_alignment * layout::region_alignment;
}

/// What a slice has to hold; symmetric_memory makes it larger.
constexpr std::uint64_t needed_slice_bytes(const layout::workspace_layout& layout) {
  return bases_offset(layout) + layout.dims.ep_size * sizeof(std::byte*);
}

}  // namespace switchyard::cuda
