// SPDX-License-Identifier: Apache-2.0
// Round trips made by hand.
#pragma once

#include "switchyard/harness/bench_crossover.hpp"

namespace switchyard::harness {

/// 32 launches round `median_us`: p10 and p90 lie `half_range_us` below and above it, halves dealt A B B A are alike.
inline trip_samples sample_trips(std::int64_t tokens, bench_transport by, double median_us, double half_range_us) {
  trip_samples trips{tokens, by, {}};
  for (int i = 0; i < 4; ++i) {
    for (const double part : {-1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0}) {
      trips.us.push_back(median_us + part * half_range_us);
    }
  }
  return trips;
}

/// Both transports at one point, with that noise.
inline transport_comparison sample_comparison(std::int64_t tokens, double fence_us, double lamport_us,
                                              double noise_us) {
  const std::vector trips{sample_trips(tokens, bench_transport::fence, fence_us, noise_us),
                          sample_trips(tokens, bench_transport::lamport, lamport_us, noise_us / 2)};
  return compare_transports(trips).front();
}

}  // namespace switchyard::harness
