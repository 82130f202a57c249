// SPDX-License-Identifier: Apache-2.0
// Two sets of samples, judged.
#pragma once

#include "switchyard/harness/gate/sample_set.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {

/// Every scenario of the base gets a verdict; those of the current set alone are named. Noise is the larger of what
/// either set says. Sets of different testbeds are not judged: result.keys_differ says so, and
/// result.scenarios has medians alone.
gate_result compare_sets(const sample_set& base, const sample_set& current, const gate_rules& rules);

}  // namespace switchyard::harness::gate
