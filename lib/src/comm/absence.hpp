// SPDX-License-Identifier: Apache-2.0
// How an absence is told to the caller.
#pragma once

#include <string>

#include "comm/deadline.hpp"
#include "comm/wire.hpp"

namespace switchyard::comm {

absence late(const rank_set& missing, const deadline& until);
absence gone(const rank_set& missing);

/// Throws peer_fault whose record has the missing ranks and the timeout, or invalid_argument for unfit. `detail` is
/// added to the message unless it is empty; of unfit it is the message.
[[noreturn]] void throw_absence(const absence& why, const std::string& detail = {});

}  // namespace switchyard::comm
