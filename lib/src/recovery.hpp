// SPDX-License-Identifier: Apache-2.0
// How a group comes back after a fault: everybody stops, then everybody starts anew, or nobody does.
#pragma once

#include <chrono>

#include "fabric/fabric.hpp"
#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard {

/// Throws invalid_argument unless `active` names ranks of the group and this rank among them; unsupported unless it
/// names all: a rank that is left out needs rank masks.
void check_active_ranks(const rank_set& active, int rank, int ep_size);

/// Ends what runs on this rank's workspace, waits until every rank has done the same, and makes the workspace as new:
/// of another incarnation, two epochs past the furthest rank. Collective. Throws peer_fault naming the ranks that did
/// not come within `timeout`, or whose launches did not end within it; then nobody has started anew.
void recover_workspace(fabric_workspace& workspace, comm_backend& backend, std::chrono::nanoseconds timeout);

}  // namespace switchyard
