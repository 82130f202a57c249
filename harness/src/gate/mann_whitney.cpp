// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "rank_sums.hpp"
#include "switchyard/harness/gate/statistics.hpp"

namespace switchyard::harness::gate {
namespace {

struct pooled_ranks {
  std::vector<std::size_t> doubled;  ///< in the order of values
  std::size_t doubled_sum_of_b = 0;
  double ties = 0;  ///< sum over groups of t equal values of t^3 - t
};

pooled_ranks rank_pooled(std::span<const double> a, std::span<const double> b) {
  struct item {
    double value;
    bool is_b;
  };
  std::vector<item> items;
  items.reserve(a.size() + b.size());
  for (const double one : a) items.push_back({one, false});
  for (const double one : b) items.push_back({one, true});
  std::ranges::sort(items, {}, &item::value);
  pooled_ranks result;
  result.doubled.reserve(items.size());
  for (std::size_t begin = 0; begin < items.size();) {
    auto end = begin + 1;
    while (end < items.size() && items[end].value == items[begin].value) ++end;
    const auto doubled_mean = begin + 1 + end;  // of the ranks begin + 1 to end
    for (std::size_t i = begin; i < end; ++i) {
      result.doubled.push_back(doubled_mean);
      if (items[i].is_b) result.doubled_sum_of_b += doubled_mean;
    }
    const auto tied = static_cast<double>(end - begin);
    result.ties += tied * tied * tied - tied;
    begin = end;
  }
  return result;
}

/// Of the group of `chosen` items whose doubled ranks add up to `sum`.
double exact_p(const std::vector<std::size_t>& doubled_ranks, std::size_t chosen, std::size_t sum) {
  const auto ways = ways_to_sum(doubled_ranks, chosen);
  const auto at = ways.begin() + static_cast<std::ptrdiff_t>(sum);
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  const double below = std::accumulate(ways.begin(), at + 1, 0.0);
  const double above = std::accumulate(at, ways.end(), 0.0);
  return std::min(1.0, 2 * std::min(below, above) / all);
}

double normal_p(double u, double samples_a, double samples_b, double ties) {
  const double all = samples_a + samples_b;
  const double variance = samples_a * samples_b / 12 * (all + 1 - ties / (all * (all - 1)));
  if (variance <= 0) return 1;  // every value is the same
  constexpr double continuity = 0.5;
  const double off = std::max(0.0, std::abs(u - samples_a * samples_b / 2) - continuity);
  return std::erfc(off / std::sqrt(2 * variance));  // both tails
}

}  // namespace

std::string_view to_string(rank_sum_method which) noexcept {
  switch (which) {
    case rank_sum_method::exact: return "exact";
    case rank_sum_method::normal: return "normal";
  }
  return "unknown";
}

rank_sum_test mann_whitney(std::span<const double> a, std::span<const double> b) {
  const auto ranks = rank_pooled(a, b);
  const auto samples_a = static_cast<double>(a.size());
  const auto samples_b = static_cast<double>(b.size());
  rank_sum_test result;
  result.u = static_cast<double>(ranks.doubled_sum_of_b) / 2 - samples_b * (samples_b + 1) / 2;
  if (a.size() + b.size() > most_exact_samples) {
    result.method = rank_sum_method::normal;
    result.p_two_sided = normal_p(result.u, samples_a, samples_b, ranks.ties);
    return result;
  }
  // The sum of one group tells that of the other; the smaller is sooner counted.
  const auto all = std::accumulate(ranks.doubled.begin(), ranks.doubled.end(), std::size_t{0});
  result.p_two_sided = a.size() < b.size() ? exact_p(ranks.doubled, a.size(), all - ranks.doubled_sum_of_b)
                                           : exact_p(ranks.doubled, b.size(), ranks.doubled_sum_of_b);
  return result;
}

double least_p(std::size_t samples_a, std::size_t samples_b) {
  double ways = 1;  // to choose one group out of both
  for (std::size_t i = 1; i <= samples_b; ++i) ways *= static_cast<double>(samples_a + i) / static_cast<double>(i);
  return std::min(1.0, 2 / ways);
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t left, std::size_t right) { return p[left] < p[right]; });
  std::vector<double> q(p.size());
  double least = 1;
  for (auto place = order.size(); place > 0; --place) {
    const auto index = order[place - 1];
    least = std::min(least, p[index] * static_cast<double>(p.size()) / static_cast<double>(place));
    q[index] = least;
  }
  return q;
}

}  // namespace switchyard::harness::gate
