// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace switchyard::harness {

/// What the linker says of this program's file (its GNU build id), in hexadecimal: equal for equal builds alone, also
/// where sources were changed without a commit. Empty where the linker was told not to.
std::string build_id();

}  // namespace switchyard::harness
