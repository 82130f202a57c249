// SPDX-License-Identifier: Apache-2.0
// The points of one group of a sweep, as indices into its axes' values.
#pragma once

#include <vector>

#include "switchyard/harness/pairwise.hpp"
#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// All combinations of the axes' values but the excluded ones.
combination_space space_of(const sweep_group& group);

/// What is left of a group when some fields are overridden: axes of those fields go, and so do members of exclusions
/// that the override matches; exclusions that it does not match are gone. No axes: nothing of the group is left. Throws
/// input_error when exclusions leave no combination.
sweep_group without(const sweep_group& group, const field_settings& overrides);

/// The points of a group with at least one axis, in the order of its kind: in a product the last axis is the fastest.
/// Throws input_error, pointing at the group, when there are more than max_cases_per_scenario to look at.
std::vector<combination> points_of(const sweep_group& group);

}  // namespace switchyard::harness
