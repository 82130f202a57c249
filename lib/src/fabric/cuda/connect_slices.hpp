// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group back and map each other's slices: together, or not at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "fabric/cuda/symmetric_memory.hpp"
#include "fabric/rank_meeting.hpp"
#include "switchyard/comm_backend.hpp"

namespace switchyard::cuda {

/// How an exported slice comes to its peers.
enum class passing : std::uint8_t {
  as_it_is,       ///< a fabric handle means the same everywhere, a descriptor in one process
  by_descriptor,  ///< the comm backend brings descriptors into other processes
};

/// What a rank has learned of its group.
struct group_place {
  handle_kind kind = handle_kind::posix_descriptor;
  passing handles = passing::as_it_is;
  int ranks_on_device = 1;  ///< of whatever process, for some run kernels of several at a time; this one included
};

/// What a rank brings to the survey.
struct surveyed_rank {
  int device = 0;
  bool processes_may_share_gpu = false;
};

/// Collective, without side effects but for the fabric probe: which handles the group can use, and whether every rank
/// can reach every peer's memory. Throws unsupported on every rank, naming the ranks or the pairs that cannot.
group_place survey_group(comm_backend& backend, const driver_api& api, const surveyed_rank& self,
                         std::chrono::nanoseconds timeout);

/// Collective: backs this rank's slice, lets `initialise` fill it, maps every peer's. When it returns, all slices of
/// all ranks are initialised. On failure every rank throws and no memory is left behind the addresses.
void connect_slices(comm_backend& backend, const driver_api& api, symmetric_memory& memory, const group_place& place,
                    const std::function<void()>& initialise, std::chrono::nanoseconds timeout);

/// Collective over the ranks of the meeting: puts fresh memory behind this rank's slice, lets `initialise` fill it, and
/// maps what the other ranks of the meeting have put behind theirs. Slices of ranks that are not there stay as they
/// are. When it returns, all slices of all these ranks are initialised. Whatever can fail for want of memory or handles
/// is done before anything changes, on every rank, which takes the memory of both for a moment: when that fails, every
/// rank throws and has what it had. What fails later, on any rank, is thrown by all as well; then slices may be new,
/// not mapped, or as they were, but the rank's own is mapped unless the driver refuses even that, and another attempt
/// mends all of it. `settle` is called right before slices change: from its return on nothing on the device may use
/// this rank's addresses.
void remap_slices(const rank_meeting& meeting, const driver_api& api, symmetric_memory& memory, int rank,
                  passing handles, const std::function<void()>& settle, const std::function<void()>& initialise);

}  // namespace switchyard::cuda
