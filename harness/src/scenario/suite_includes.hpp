// SPDX-License-Identifier: Apache-2.0
// Suites that include suites.
#pragma once

#include <vector>

#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// `root` and what it includes, and what that includes: each suite once, a suite before those that it includes. They
/// are files of the folder in which the including file lies. Throws input_error at the place of an include that names
/// no suite there, that closes a circle, or that names a suite which another include has brought in already.
std::vector<suite> with_includes(suite root);

}  // namespace switchyard::harness
