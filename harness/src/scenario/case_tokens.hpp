// SPDX-License-Identifier: Apache-2.0
// How many tokens the ranks of a case have, and what T is.
#pragma once

#include "settings_reader.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// Reads tokens, token_counts, padding_rows, empty_ranks, runtime_max_tokens, runtime_max_tokens_from and
/// max_tokens_per_rank. `into` has its ep_size, its variation and, with a trace, its num_tokens. Throws input_error.
void read_tokens(case_spec& into, const settings_reader& from);

}  // namespace switchyard::harness
