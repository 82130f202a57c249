// SPDX-License-Identifier: Apache-2.0
// Fault mailboxes in pinned memory that every device can write. They are kept for the life of the process and used
// again: freeing pinned memory waits for the device, and with it for peers that wait for somebody.
#pragma once

#include <memory>

#include "layout/round_state.hpp"

namespace switchyard::cuda {

/// An empty mailbox; it goes back to the pool with the last owner. Throws out_of_memory, cuda_error.
std::shared_ptr<layout::fault_mailbox> take_mailbox();

}  // namespace switchyard::cuda
