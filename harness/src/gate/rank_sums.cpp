// SPDX-License-Identifier: Apache-2.0
#include "rank_sums.hpp"

#include <algorithm>
#include <numeric>

namespace switchyard::harness::gate {

std::vector<double> ways_to_sum(const std::vector<std::size_t>& doubled_ranks, std::size_t chosen) {
  auto largest_first = doubled_ranks;
  std::ranges::sort(largest_first, std::greater<>());
  const auto most = std::accumulate(largest_first.begin(), largest_first.begin() + static_cast<std::ptrdiff_t>(chosen),
                                    std::size_t{0});
  // ways[count][sum] over the items so far; an item is added to larger counts first, so that it is taken once at most.
  const auto width = most + 1;
  std::vector<double> ways((chosen + 1) * width, 0.0);
  ways[0] = 1;
  std::size_t items = 0;
  for (const auto rank : doubled_ranks) {
    ++items;
    for (std::size_t count = std::min(items, chosen); count > 0; --count) {
      const double* without = &ways[(count - 1) * width];
      double* with = &ways[count * width];
      for (std::size_t sum = rank; sum < width; ++sum) with[sum] += without[sum - rank];
    }
  }
  return {ways.end() - static_cast<std::ptrdiff_t>(width), ways.end()};
}

std::vector<std::size_t> distinct_ranks(std::size_t count) {
  std::vector<std::size_t> ranks(count);
  for (std::size_t i = 0; i < count; ++i) ranks[i] = 2 * (i + 1);
  return ranks;
}

}  // namespace switchyard::harness::gate
