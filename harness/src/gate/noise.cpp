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
  const auto half = static_cast<std::ptrdiff_t>(shuffled.size() / 2);
  for (std::size_t i = 0; i < splits; ++i) {
    // By hand: what std::shuffle does with its generator differs from library to library.
    for (auto left = shuffled.size(); left > 1; --left) std::swap(shuffled[left - 1], shuffled[draw() % left]);
    const std::span<const double> all(shuffled);
    shifts.push_back(std::abs(
        hodges_lehmann(all.first(static_cast<std::size_t>(half)), all.subspan(static_cast<std::size_t>(half)), {})
            .shift));
  }
  const auto high = shifts.begin() + static_cast<std::ptrdiff_t>(splits * 99 / 100);
  std::nth_element(shifts.begin(), high, shifts.end());
  result.splits_us = *high;
  result.noise_us = std::max(result.shift_us, result.splits_us);
  return result;
}

}  // namespace switchyard::harness::gate
