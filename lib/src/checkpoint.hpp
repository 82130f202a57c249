// SPDX-License-Identifier: Apache-2.0
// How a group gives its memory back for a checkpoint of its processes, and gets it again. Decision 018.
#pragma once

#include <chrono>
#include <memory>

#include "shared_workspace.hpp"
#include "switchyard/comm_backend.hpp"

namespace switchyard {

/// Waits for this rank's work on the workspace, meets all ranks by workspace.backend, and takes the memory away from
/// behind the addresses; returns when every rank has, and has let go of the backend. Collective over all ranks of the
/// group. Nothing where it is prepared already. Throws on all ranks when one cannot: peer_fault where the own workspace
/// is poisoned or ranks did not come within `timeout`, state_error where a rank is poisoned, within a step, or its work
/// did not end; then nothing has changed. Once memory is being taken away a failure is for good, and says so.
void prepare_checkpoint(shared_workspace& workspace, std::chrono::nanoseconds timeout);

/// Puts new memory behind the addresses; the workspace is then as after recover(), of the same active ranks as before,
/// and is found as one of the backend's group. Collective over all ranks of the group. Nothing where it has its memory.
/// Throws invalid_argument for a backend that is not this rank's; what the fabric or the backend throws: then it is
/// prepared as before, or, where the message says so, lost for good.
void restore_checkpoint(const std::shared_ptr<shared_workspace>& workspace, std::shared_ptr<comm_backend> backend,
                        std::chrono::nanoseconds timeout);

}  // namespace switchyard
