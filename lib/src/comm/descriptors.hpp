// SPDX-License-Identifier: Apache-2.0
// Copies of file descriptors, for handing them round.
#pragma once

#include <vector>

#include "system/unique_descriptor.hpp"

namespace switchyard::comm {

/// Another descriptor, close-on-exec, of what `descriptor` refers to. None (-1) of none. Throws invalid_argument for
/// one that is not open, unsupported when this process may have no more.
unique_descriptor copy_of(int descriptor);

/// The numbers, which are the caller's from now on.
std::vector<int> release_all(std::vector<unique_descriptor>& descriptors);

/// What to say where this process may have no more descriptors.
[[noreturn]] void throw_no_more_descriptors();

}  // namespace switchyard::comm
