// SPDX-License-Identifier: Apache-2.0
// Who takes part in which step of a case whose ranks may be masked off.
#pragma once

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::harness {

/// The ranks that take part in `step`; all of them in a case without masks.
rank_set active_ranks_of(const case_spec& spec, int step) noexcept;

/// The mask that `rank` declares before `step`: another one where that is what it does wrong.
rank_set declared_mask(const case_spec& spec, int rank, int step) noexcept;

/// What is turned over in the mask of the one rank on its way into the workspace, past the checks of the call.
rank_set spoiled_bits(const case_spec& spec) noexcept;

/// The rank that the odd mask of a case lacks: the next one that takes part.
int rank_left_out(const case_spec& spec) noexcept;

}  // namespace switchyard::harness
