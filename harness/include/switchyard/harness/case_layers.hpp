// SPDX-License-Identifier: Apache-2.0
// The instances of a rank that share its workspace, and before which steps a case does what with them: the same on all
// ranks.
#pragma once

#include <cstdint>
#include <optional>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// So many of a rank's instances are left in `step`; never none.
int layers_left(const case_spec& spec, int step) noexcept;

/// Which of them runs the step, as all ranks but an odd one have it.
int layer_of(const case_spec& spec, int step) noexcept;

/// So many formats have rows and scales that fit a workspace made for `format`; that one counts.
int formats_within(dispatch_format format, std::int64_t hidden_size) noexcept;

/// The case's parameters with the format in which `step` dispatches: that of the layer that runs it.
comm_params params_of_step(const case_spec& spec, int step) noexcept;

/// Whether the workspaces' memory is given back, and taken again, before `step`.
bool is_checkpoint(const case_spec& spec, int step) noexcept;

/// Whether `step` runs in a workspace of its own, which is made beside that of the layers and destroyed behind it.
bool is_beside(const case_spec& spec, int step) noexcept;

/// The shape of that workspace: one with another layout, in which every step of the case fits.
comm_params side_params_of(const case_spec& spec);

}  // namespace switchyard::harness
