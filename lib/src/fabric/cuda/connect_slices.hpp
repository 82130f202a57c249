// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group back and map each other's slices: together, or not at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "fabric/cuda/symmetric_memory.hpp"
#include "switchyard/comm_backend.hpp"

namespace switchyard::cuda {

/// What a rank has learned of its group.
struct group_place {
  handle_kind kind = handle_kind::posix_descriptor;
  int ranks_on_device = 1;  ///< this one included
};

/// Collective, without side effects but for the fabric probe: which handles the group can use, and whether every rank
/// can reach every peer's memory. Throws unsupported on every rank, naming the ranks or the pairs that cannot.
group_place survey_group(comm_backend& backend, const driver_api& api, int device, std::chrono::nanoseconds timeout);

/// Collective: backs this rank's slice, lets `initialise` fill it, maps every peer's. When it returns, all slices of
/// all ranks are initialised. On failure every rank throws and no memory is left behind the addresses. Called again
/// after unback() it completes a remap.
void connect_slices(comm_backend& backend, const driver_api& api, symmetric_memory& memory, handle_kind kind,
                    const std::function<void()>& initialise, std::chrono::nanoseconds timeout);

}  // namespace switchyard::cuda
