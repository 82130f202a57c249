// SPDX-License-Identifier: Apache-2.0
// The rules of DESIGN's contract on parameters, configuration and inputs. Each check throws one sentence that names the
// field, its value and the rule.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "layout/workspace_layout.hpp"
#include "switchyard/config.hpp"
#include "switchyard/payloads.hpp"

namespace switchyard {

/// Throws invalid_argument when params, config or ep_size break a rule.
void check_group(const comm_params& params, const one_sided_config& config, int ep_size);

/// The region extents of a group that check_group has passed. Throws invalid_argument when the workspace would not fit
/// a 47-bit address space.
layout::extents extents_of(const comm_params& params, const one_sided_config& config, int ep_size);

/// The warm-up deadline in force.
std::chrono::nanoseconds effective_warmup(const one_sided_config& config);

/// Throws invalid_argument when inputs do not fit the group or T.
void check_dispatch(const dispatch_inputs& inputs, std::int64_t tokens_per_rank, const comm_params& params,
                    const one_sided_config& config);

/// Throws invalid_argument when there are more load statistics than the workspace has room for, or they lie badly.
/// `workspace`: this rank's.
void check_statistics(std::span<const std::int32_t> local_stats, const one_sided_config& config,
                      std::span<const std::byte> workspace);

/// Whether two pieces of memory have a byte in common.
bool overlaps(const void* a, std::uint64_t a_bytes, const void* b, std::uint64_t b_bytes);

/// Throws invalid_argument unless 1 <= T <= max_tokens_per_rank.
void check_tokens_per_rank(std::int64_t tokens_per_rank, const comm_params& params);

/// Throws invalid_argument when combine's arguments do not fit the group or the dispatch of `num_tokens` tokens.
void check_combine(const combine_inputs& inputs, const combine_output& output, std::int64_t num_tokens,
                   const comm_params& params);

/// Throws invalid_argument unless the mask has `rank` and no bit past ep_size.
void check_rank_mask(const rank_set& mask, int rank, int ep_size);

/// The mask of `ranks`. Throws invalid_argument for one outside [0, ep_size).
rank_set mask_of_ranks(std::span<const int> ranks, int ep_size);

}  // namespace switchyard
