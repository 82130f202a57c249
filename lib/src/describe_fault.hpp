// SPDX-License-Identifier: Apache-2.0
// A fault record as one sentence.
#pragma once

#include <string>

#include "switchyard/spec/faults.hpp"

namespace switchyard {

/// For example: "dispatch of epoch 7 failed: timeout, rank 2, waited 200 ms for its header, nothing complete from
/// rank(s) 2".
std::string describe(const recorded_fault& record);

}  // namespace switchyard
