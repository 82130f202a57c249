// SPDX-License-Identifier: Apache-2.0
// Which transport is the faster one at which count of tokens, and whether `auto` chose well. Arithmetic and words on
// measured round trips, no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "switchyard/harness/bench_repeat.hpp"
#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

/// Round trips by one transport, of launches or of processes, in the order in which they ran.
struct trip_samples {
  std::int64_t tokens = 0;
  bench_transport by = bench_transport::fence;
  std::vector<double> us;  ///< not empty
};
/// Of the headline. Nothing of a step that was to go by lamport and could not.
std::vector<trip_samples> trips_of(std::span<const bench_point> points);
/// A value a process.
std::vector<trip_samples> trips_of(std::span<const repeated_point> points);

struct trip_summary {
  std::size_t count = 0;
  double median_us = 0;
  std::optional<double> p10_us;  ///< null below 29 samples, as p90
  std::optional<double> p90_us;
  std::optional<double> aa_shift_us;  ///< see repeat_noise; null below 4 samples
};
/// Precondition: not empty.
trip_summary summary_of(std::span<const double> us);

/// Lamport against fence at one count of tokens.
struct transport_comparison {
  std::int64_t tokens = 0;
  trip_summary fence;
  trip_summary lamport;
  /// Half of p10 .. p90, or the A/A shift, of either transport, whichever is most. Null: too few samples for any.
  std::optional<double> noise_us;

  [[nodiscard]] double difference_us() const noexcept { return lamport.median_us - fence.median_us; }
  [[nodiscard]] bool lamport_at_most_fence() const noexcept { return difference_us() <= 0; }
  /// Whether the difference exceeds the noise.
  [[nodiscard]] bool decided() const noexcept;
};
/// Of every count at which both were measured, ascending.
std::vector<transport_comparison> compare_transports(std::span<const trip_samples> trips);

enum class crossover_kind : std::uint8_t {
  unmeasured,  ///< nothing to compare
  none,        ///< fence is faster at every point
  within,
  beyond,  ///< lamport is at most fence at the last point as well
};
std::string_view to_string(crossover_kind kind) noexcept;

/// The largest count of tokens at which lamport is at most fence.
struct crossover {
  crossover_kind kind = crossover_kind::unmeasured;
  std::vector<transport_comparison> points;  ///< ascending
  std::size_t last = 0;                      ///< its place among the points; of `within` and `beyond`

  /// Counts below it at which fence is faster all the same: the lines cross more than once.
  [[nodiscard]] std::vector<std::int64_t> fence_faster_below() const;
};
crossover crossover_of(std::vector<transport_comparison> points);

/// What two times of one run may differ by and count as equal: max(5 %, 0.3 us, A/A noise).
double tolerance_us(double time_us, double noise_us) noexcept;

/// `auto` against the better of the other two.
struct auto_verdict {
  std::int64_t tokens = 0;
  double auto_us = 0;
  bench_transport better = bench_transport::fence;
  double better_us = 0;
  double allowed_us = 0;  ///< better_us and the tolerance

  [[nodiscard]] bool within() const noexcept { return auto_us <= allowed_us; }
};
/// At every count at which all three were measured, ascending.
std::vector<auto_verdict> check_auto(std::span<const trip_samples> trips);

/// "64 tokens: lamport 12.30 us (p10 12.20, p90 12.40), fence 15.00 us (...); 2.70 us less, noise 0.10 us: decided"
std::string comparison_text(const transport_comparison& point);
/// Lines.
std::string crossover_text(const crossover& found);
std::string auto_check_text(std::span<const auto_verdict> verdicts);

nlohmann::ordered_json to_json(const transport_comparison& point);
nlohmann::ordered_json to_json(const crossover& found);
nlohmann::ordered_json auto_check_json(std::span<const auto_verdict> verdicts);

}  // namespace switchyard::harness
