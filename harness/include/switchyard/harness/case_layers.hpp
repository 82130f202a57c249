// SPDX-License-Identifier: Apache-2.0
// The instances of a rank that share its workspace, and before which steps a case does what with them: the same on all
// ranks.
#pragma once

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// So many of a rank's instances are left in `step`; never none.
int layers_left(const case_spec& spec, int step) noexcept;

/// Which of them runs the step, as all ranks but an odd one have it.
int layer_of(const case_spec& spec, int step) noexcept;

/// Whether the workspaces' memory is given back, and taken again, before `step`.
bool is_checkpoint(const case_spec& spec, int step) noexcept;

}  // namespace switchyard::harness
