// SPDX-License-Identifier: Apache-2.0
// A field's value out of JSON.
#pragma once

#include "json_members.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {

/// Throws input_error when the value breaks the field's own rule.
field_setting read_field(const field_rule& rule, const json_at& at);

}  // namespace switchyard::harness
