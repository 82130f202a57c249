// SPDX-License-Identifier: Apache-2.0
// Which experts the tokens of a case go to.
#pragma once

#include "settings_reader.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// Reads what the routing laws need, duplicate_percent and invalid_percent. `into` has its ep_size, shape and routing.
/// Throws input_error, also for a field that belongs to another law: it would change nothing.
void read_routing(case_spec& into, const settings_reader& from);

}  // namespace switchyard::harness
