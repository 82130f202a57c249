// SPDX-License-Identifier: Apache-2.0
// A comm backend for ranks that are processes of an MPI job. Of the library switchyard_mpi, which is built where MPI is
// found; this header needs none.
#pragma once

#include <chrono>
#include <memory>

#include "switchyard/comm_backend.hpp"

namespace switchyard {

/// The backend of this process's rank in MPI_COMM_WORLD. Collective over it; MPI is initialised, and is not finalised
/// before the backend is destroyed. It works on a communicator of its own, so it does not meet the caller's messages;
/// it calls MPI in the caller's thread, and only inside calls. Passes no descriptors and has no parts: an MPI job whose
/// rank dies is commonly ended as a whole, so recover() without some of the ranks takes another backend.
///
/// Waiting is bounded as everywhere, and who did not come is named; but not at once where a rank has died: MPI does not
/// tell. Who does not come to the making itself cannot be told apart: all other ranks are named then. A backend that a
/// rank did not come to is broken for good. MPI keeps one communicator for each backend that was made until it is
/// finalised.
///
/// Throws peer_fault naming the ranks that did not come within `timeout`; invalid_argument for more than max_ep_size
/// ranks; state_error where MPI is not initialised, or already finalised; error for what MPI reports.
std::shared_ptr<comm_backend> make_mpi_backend(std::chrono::nanoseconds timeout);

/// The same for another communicator, within one group (no intercommunicator): as MPI_Comm_c2f gives it.
std::shared_ptr<comm_backend> make_mpi_backend_of(int communicator, std::chrono::nanoseconds timeout);

}  // namespace switchyard
