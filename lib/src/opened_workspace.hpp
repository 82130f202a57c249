// SPDX-License-Identifier: Apache-2.0
// How an instance comes to its workspace: one that others have, or a new one, on all ranks the same.
#pragma once

#include <cstdint>
#include <memory>

#include "layout/workspace_layout.hpp"
#include "shared_workspace.hpp"
#include "switchyard/config.hpp"

namespace switchyard {

/// The built-in fabric of a kind; null for a number that is none.
std::shared_ptr<fabric> built_in_fabric(fabric_kind kind);

struct opened_workspace {
  std::shared_ptr<shared_workspace> workspace;  ///< which the instance has entered, and is to leave
  layout::workspace_layout layout;
  std::uint32_t instance = 0;  ///< its number among those that share the workspace
};

/// Collective over the group: agrees on what is wanted, then joins or opens and connects. Throws as construction of the
/// class does; then nothing is left of it.
opened_workspace open_workspace(const bootstrap& boot, const comm_params& params, const one_sided_config& config);

}  // namespace switchyard
