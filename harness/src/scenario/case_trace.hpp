// SPDX-License-Identifier: Apache-2.0
// The routing trace of a case.
#pragma once

#include "settings_reader.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// Reads routing and trace, and takes tokens per rank and the number of steps from the trace. `into` has its ep_size,
/// its variation and its shape. Throws input_error, also when a field contradicts the trace.
void read_trace(case_spec& into, const settings_reader& from, const suite& where);

}  // namespace switchyard::harness
