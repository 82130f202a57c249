// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a case on purpose, and what must come of it.
#pragma once

#include "settings_reader.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// Reads inject.*, expected_fault and prompt_verdict. `into` has all else. Throws input_error.
void read_faults(case_spec& into, const settings_reader& from);

/// Who is masked off, from when on. To be called before read_faults().
void read_masks(case_spec& into, const settings_reader& from);

}  // namespace switchyard::harness
