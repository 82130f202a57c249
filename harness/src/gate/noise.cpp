// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "switchyard/harness/gate/statistics.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {
namespace {

/// The value that so many in 100 do not exceed.
double at_part(std::vector<double>& values, std::size_t in_100) {
  const auto found = values.begin() + static_cast<std::ptrdiff_t>(values.size() * in_100 / 100);
  std::nth_element(values.begin(), found, values.end());
  return *found;
}

}  // namespace

aa_noise noise_of_launches(std::span<const double> time_us) {
  std::vector<double> a;
  std::vector<double> b;
  for (std::size_t i = 0; i < time_us.size(); ++i) (i % 4 == 0 || i % 4 == 3 ? a : b).push_back(time_us[i]);
  aa_noise result;
  result.median_us = median_us({time_us.begin(), time_us.end()});
  result.shift_us = std::abs(hodges_lehmann(a, b, {}).shift);

  constexpr std::size_t splits = 400;  // 4 of them lie beyond the 99th of 100
  constexpr std::uint64_t seed = 1;
  std::mt19937_64 draw(seed);
  std::vector<double> shuffled(time_us.begin(), time_us.end());
  std::vector<double> shifts;
  std::vector<double> widths;
  const auto half = shuffled.size() / 2;
  const auto rank = interval_rank(half, shuffled.size() - half);
  for (std::size_t i = 0; i < splits; ++i) {
    // By hand: what std::shuffle does with its generator differs from library to library.
    for (auto left = shuffled.size(); left > 1; --left) std::swap(shuffled[left - 1], shuffled[draw() % left]);
    const std::span<const double> all(shuffled);
    const auto found = hodges_lehmann(all.first(half), all.subspan(half), rank);
    shifts.push_back(std::abs(found.shift));
    widths.push_back(
        std::max(found.shift - found.lower.value_or(found.shift), found.upper.value_or(found.shift) - found.shift));
  }
  result.splits_us = at_part(shifts, 99);
  // Where launches come in two kinds the medians may agree and the bounds lie far apart all the same.
  result.interval_us = at_part(widths, 95);
  result.noise_us = std::max({result.shift_us, result.splits_us, result.interval_us});
  return result;
}

}  // namespace switchyard::harness::gate
