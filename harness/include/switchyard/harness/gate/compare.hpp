// SPDX-License-Identifier: Apache-2.0
// Two sets of samples, judged.
#pragma once

#include "switchyard/harness/gate/sample_set.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {

/// Every scenario of the base gets a verdict, but for cases that were skipped on both sides; those of the current set
/// alone are named, and judged where they are cases that did not pass. Noise is what the base says. Times of different
/// testbeds, or of one that is not known, are not judged: result.keys_differ says so, and result.scenarios has medians
/// alone. Launches of the base that failed are notes.
gate_result compare_sets(const sample_set& base, const sample_set& current, const gate_rules& rules);

}  // namespace switchyard::harness::gate
