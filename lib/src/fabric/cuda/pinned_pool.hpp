// SPDX-License-Identifier: Apache-2.0
// What a workspace has in pinned memory of the host. It is kept for the life of the process and used again: freeing
// pinned memory waits for the device, and with it for peers that wait for somebody.
#pragma once

#include <memory>

#include "layout/round_snapshot.hpp"

namespace switchyard::cuda {

/// Parts on lines of their own: a device writes one while the host reads its neighbour.
struct pinned_part {
  alignas(layout::line_bytes) layout::fault_mailbox mailbox;
  alignas(layout::line_bytes) layout::round_snapshot snapshot;  ///< for copies of the device's
};

/// One with an empty mailbox, which every device can write; it goes back to the pool with the last owner. Throws
/// out_of_memory, cuda_error.
std::shared_ptr<pinned_part> take_pinned();

}  // namespace switchyard::cuda
