// SPDX-License-Identifier: Apache-2.0
// A group whose dispatches may gather load statistics.
#pragma once

#include <cstddef>

#include "support/masked_group.hpp"

namespace switchyard::test {

/// Room for so many integers of a rank.
inline constexpr std::size_t most_stats = 37;

inline group_options stats_group(int ep_size, choice lamport) {
  auto options = masked_group(ep_size, lamport);
  options.config.enable_rank_mask = false;
  options.params.num_experts = 64;
  options.config.eplb_stats_num_experts = most_stats;
  return options;
}

}  // namespace switchyard::test
