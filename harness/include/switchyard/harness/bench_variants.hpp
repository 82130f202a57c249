// SPDX-License-Identifier: Apache-2.0
// What a variant of the library takes against the usual. Arithmetic and words on measured round trips, no device.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "switchyard/harness/bench_crossover.hpp"

namespace switchyard::harness {

/// One variant against the usual at one count of tokens by one transport, launches of one run in turn.
struct variant_comparison {
  std::int64_t tokens = 0;
  bench_way way;
  std::vector<double> usual_us;  ///< not empty; a launch each, of the slowest rank
  std::vector<double> varied_us;
  trip_summary usual;
  trip_summary varied;

  /// varied - usual, of the medians.
  [[nodiscard]] double difference_us() const noexcept { return varied.median_us - usual.median_us; }
  /// What two equal times may differ by: the A/A shift of either, the larger, and at least 0.1 us. Null: too few
  /// samples to know.
  [[nodiscard]] std::optional<double> allowed_us() const noexcept;
  /// Whether the two take the same. Null: not known.
  [[nodiscard]] std::optional<bool> equal() const noexcept;
};
/// Of every variant whose usual was measured, in the order of the points.
std::vector<variant_comparison> compare_variants(std::span<const bench_point> points);

/// A line each.
std::string variants_text(std::span<const variant_comparison> compared);
/// A record.
nlohmann::ordered_json to_json(const variant_comparison& one);

}  // namespace switchyard::harness
