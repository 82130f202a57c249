// SPDX-License-Identifier: Apache-2.0
// The distribution of a sum of ranks when any of the items could be in the group.
#pragma once

#include <cstddef>
#include <vector>

namespace switchyard::harness::gate {

/// ways[s]: in how many ways `chosen` of the items with these doubled ranks add up to s. Doubled, so that the mean rank
/// of tied items is an integer. Exact while the number of all ways is below 2^53.
std::vector<double> ways_to_sum(const std::vector<std::size_t>& doubled_ranks, std::size_t chosen);

/// Doubled ranks of items that all differ: 2, 4, 6, ...
std::vector<std::size_t> distinct_ranks(std::size_t count);

}  // namespace switchyard::harness::gate
