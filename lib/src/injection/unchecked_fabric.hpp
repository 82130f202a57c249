// SPDX-License-Identifier: Apache-2.0
// A fabric whose ranks wait for headers and do not compare them: for measuring what comparing them costs, and nothing
// else. In public words alone, so that the harness can ask for it.
#pragma once

#include <memory>

#include "switchyard/config.hpp"

namespace switchyard::injection {

/// The built-in fabric of `kind` without the check. Of GPUs: for a rank alone on its GPU, in workspaces without rank
/// masks, load statistics and low precision; all others run the library's own kernels. Ranks that declare different
/// steps are not told apart by it.
std::shared_ptr<fabric> make_unchecked_fabric(fabric_kind kind);

/// Its part for GPUs; where CUDA is off, a fabric that says so.
std::shared_ptr<fabric> make_unchecked_cuda_fabric();

}  // namespace switchyard::injection
