// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "rank_sums.hpp"
#include "switchyard/harness/gate/statistics.hpp"

namespace switchyard::harness::gate {
namespace {

/// The largest k with P(U <= k - 1) <= tail, for groups of these sizes; 0: there is none.
std::size_t exact_interval_rank(std::size_t samples_a, std::size_t samples_b, double tail) {
  const auto chosen = std::min(samples_a, samples_b);
  const auto ways = ways_to_sum(distinct_ranks(samples_a + samples_b), chosen);
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  const auto least_sum = chosen * (chosen + 1);  // doubled; there U is 0
  std::size_t rank = 0;
  double below = 0;
  for (auto sum = least_sum; sum < ways.size(); sum += 2, ++rank) {
    below += ways[sum];
    if (below > tail * all) break;
  }
  return rank;
}

/// How many standard deviations lie below all but `tail` of a normal distribution.
double normal_quantile(double tail) {
  double low = 0;
  double high = 40;  // beyond, erfc is 0
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > tail ? low : high) = middle;
  }
  return high;
}

std::size_t normal_interval_rank(double samples_a, double samples_b, double tail) {
  const double middle = samples_a * samples_b / 2;
  const double width = normal_quantile(tail) * std::sqrt(samples_a * samples_b * (samples_a + samples_b + 1) / 12);
  return middle > width ? static_cast<std::size_t>(middle - width) : 0;
}

/// Doubles in the order of their bits, for bisection: equal steps of the key pass equally many values.
constexpr auto sign_bit = std::numeric_limits<std::int64_t>::min();
std::int64_t key_of(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits >= 0 ? bits : sign_bit - bits;
}
double value_of(std::int64_t key) { return std::bit_cast<double>(key >= 0 ? key : sign_bit - key); }

/// The differences b - a by their place in order, without ever holding all of many.
class ordered_differences {
 public:
  ordered_differences(std::span<const double> a, std::span<const double> b)
      : a_(a.begin(), a.end()), b_(b.begin(), b.end()) {
    if (count() <= most_held) {
      held_.reserve(count());
      for (const double from : a) {
        for (const double to : b) held_.push_back(to - from);
      }
    } else {
      std::ranges::sort(a_, std::greater<>());  // differences then grow with either index
      std::ranges::sort(b_);
    }
  }

  [[nodiscard]] std::size_t count() const { return a_.size() * b_.size(); }

  /// The one with `place` others before it.
  double at(std::size_t place) {
    if (count() > most_held) return bisected(place);
    const auto found = held_.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(held_.begin(), found, held_.end());
    return *found;
  }

 private:
  static constexpr std::size_t most_held = 1'000'000;

  [[nodiscard]] std::size_t count_up_to(double limit) const {
    std::size_t total = 0;
    auto columns = b_.size();  // of them are up to the limit in this row, and not more in the next
    for (const double from : a_) {
      while (columns > 0 && b_[columns - 1] - from > limit) --columns;
      if (columns == 0) break;
      total += columns;
    }
    return total;
  }

  [[nodiscard]] double bisected(std::size_t place) const {
    auto low = key_of(b_.front() - a_.front());
    auto high = key_of(b_.back() - a_.back());
    while (low < high) {
      const auto middle = std::midpoint(low, high);  // rounded towards low
      if (count_up_to(value_of(middle)) > place) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return value_of(low);
  }

  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<double> held_;
};

}  // namespace

std::optional<std::size_t> interval_rank(std::size_t samples_a, std::size_t samples_b, double tail) {
  if (samples_a == 0 || samples_b == 0) return std::nullopt;
  const auto rank = samples_a + samples_b <= most_exact_samples
                        ? exact_interval_rank(samples_a, samples_b, tail)
                        : normal_interval_rank(static_cast<double>(samples_a), static_cast<double>(samples_b), tail);
  return rank == 0 ? std::nullopt : std::optional(rank);
}

shift_estimate hodges_lehmann(std::span<const double> a, std::span<const double> b, std::optional<std::size_t> rank) {
  ordered_differences differences(a, b);
  const auto count = differences.count();
  shift_estimate result;
  result.shift = differences.at(count / 2);
  if (count % 2 == 0) result.shift = std::midpoint(differences.at(count / 2 - 1), result.shift);
  if (rank) {
    result.lower = differences.at(*rank - 1);
    result.upper = differences.at(count - *rank);
  }
  return result;
}

}  // namespace switchyard::harness::gate
