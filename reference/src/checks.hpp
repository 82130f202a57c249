// SPDX-License-Identifier: Apache-2.0
// The rules that inputs of the golden model must keep; a breach throws switchyard::invalid_argument with field, value
// and rule.
#pragma once

#include <span>

#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference {

/// The rules of comm_params and of a group of ep_size ranks.
void check_params(const comm_params& params, int ep_size);

/// check_params, 1 <= T <= max_tokens_per_rank, one routing per rank, 0 <= num_tokens <= T, a whole row of ids per
/// token.
void check_step(const step_shape& shape, std::span<const rank_routing> routing);

}  // namespace switchyard::reference
