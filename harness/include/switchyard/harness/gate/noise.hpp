// SPDX-License-Identifier: Apache-2.0
// The noise of a scenario: what shift launches of one build show against launches of the same build.
#pragma once

#include <span>

namespace switchyard::harness::gate {

struct aa_noise {
  double median_us = 0;
  double shift_us = 0;     ///< of launches dealt A B B A in the order in which they ran; its size, never negative
  double splits_us = 0;    ///< of 99 in 100 random halves the shift is at most this
  double interval_us = 0;  ///< of 95 in 100 random halves neither bound lies farther from the shift
  double noise_us = 0;     ///< the largest of the three
};

/// Of so many launches half stand on either side, so the noise is that of a comparison with half as many a side.
/// Halves are drawn by a fixed seed: the same launches have the same noise. Precondition: least_noise_launches.
aa_noise noise_of_launches(std::span<const double> time_us);
inline constexpr std::size_t least_noise_launches = 8;

}  // namespace switchyard::harness::gate
