// SPDX-License-Identifier: Apache-2.0
// After the rendezvous: every two ranks get a connection of their own.
#pragma once

#include <vector>

#include "comm/deadline.hpp"
#include "comm/membership.hpp"
#include "comm/socket_domain.hpp"
#include "comm/wire.hpp"

namespace switchyard::comm {

/// Of any rank but 0: connects to the lower ranks at their addresses, and is connected to by the higher ones at
/// `listener`. `whole`: all ranks, whose mesh has the connection to rank 0. Throws what throw_absence throws.
void pair_up(const socket_domain& domain, unique_descriptor listener, const std::vector<wire_address>& addresses,
             membership& whole, const deadline& until);

}  // namespace switchyard::comm
