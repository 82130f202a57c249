// SPDX-License-Identifier: Apache-2.0
// What must hold between the values of a scenario file, each of which is right by itself.
#pragma once

#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// Throws input_error of kind relation at the first rule that is broken.
void check_relations(const suite& which);

}  // namespace switchyard::harness
