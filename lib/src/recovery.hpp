// SPDX-License-Identifier: Apache-2.0
// How a group comes back after a fault: everybody who is to take part stops, then all of them start anew, or nobody.
#pragma once

#include <chrono>
#include <functional>
#include <span>

#include "fabric/fabric.hpp"
#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard {

/// Who recovers: `active` of the ranks 0 .. ep_size - 1, this one among them.
struct recovery_terms {
  rank_set active{};
  int rank = 0;
  int ep_size = 1;
  bool rank_masks = false;  ///< whether the workspace can do without a rank
};

/// Where a life begins that follows on all of these: another incarnation, two epochs past the furthest. Not empty.
round_position position_behind(std::span<const round_position> all);

/// Throws invalid_argument unless `active` names ranks of the group and this rank among them; unsupported where it
/// leaves out a rank and there are no rank masks.
void check_active_ranks(const recovery_terms& terms);

/// Ends what runs on this rank's workspace, waits until every active rank has done the same, and makes the workspace as
/// new: of another incarnation, two epochs past the furthest of these ranks, the others masked off. Collective over the
/// active ranks. `backend` is the group's, or one of the active ranks alone, in their order. Throws
/// invalid_argument for another one, and when ranks disagree on who is active; peer_fault naming the ranks that did not
/// come within `timeout`, or whose launches did not end in half of it: its record has them as `missing`; what the
/// fabric throws. Then nobody has started anew. `when_aborted` is called once what runs has been told to end, and may
/// wait for who is still on the way into a launch.
void recover_workspace(fabric_workspace& workspace, comm_backend& backend, const recovery_terms& terms,
                       std::chrono::nanoseconds timeout, const std::function<void()>& when_aborted);

}  // namespace switchyard
