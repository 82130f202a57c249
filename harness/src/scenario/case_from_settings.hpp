// SPDX-License-Identifier: Apache-2.0
// One case out of the settings of its fields: profiles, defaults, and the rules that involve several fields.
#pragma once

#include <string>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/model_profile.hpp"
#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// `id` names the case in messages; the result carries it. Throws input_error when the case is impossible.
case_spec case_from_settings(const suite& from, const scenario& which, const std::string& id,
                             const field_settings& settings, const model_profiles& profiles);

}  // namespace switchyard::harness
