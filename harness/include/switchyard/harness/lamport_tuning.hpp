// SPDX-License-Identifier: Apache-2.0
// Which lamport_max_tokens follows from what was measured, and what to measure next. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "switchyard/harness/bench_crossover.hpp"

namespace switchyard::harness {

/// The largest T that should go by lamport; all above it by fence.
struct lamport_threshold {
  bool measured = false;        ///< false: there was nothing to decide from
  std::int64_t max_tokens = 0;  ///< one of the points; 0: no step should go by lamport
  /// Every point from max_tokens to here would do as well within the noise. The least of them is chosen: inboxes are
  /// memory.
  std::int64_t as_good_up_to = 0;
  bool open_ended = false;  ///< fence is not the faster one at the last point: a larger threshold may be better
  /// Where what the threshold chooses is slower than the other transport by more than tolerance_us(): transports cross
  /// more than once, and no threshold is right everywhere.
  std::vector<std::int64_t> too_slow_at;
};

/// Among thresholds at the points and 0, that whose worst point exceeds the tolerance by the least, and then that which
/// loses the least in all, each point's loss as a part of its better time and counted only where it exceeds the noise.
/// Precondition: ascending.
lamport_threshold decide_threshold(std::span<const transport_comparison> points);

/// Counts between the threshold and the next larger point that is not as good, evenly spaced, at most so many. Empty
/// where there is no whole number between them, or nothing to refine.
std::vector<std::int64_t> tokens_around(std::span<const transport_comparison> points,
                                        const lamport_threshold& threshold, int most);

/// What a user is to set, and what it rests on; lines.
std::string tuning_text(std::span<const transport_comparison> points, const lamport_threshold& threshold);
/// A Markdown table, one row per point.
std::string comparison_table(std::span<const transport_comparison> points);
nlohmann::ordered_json to_json(std::span<const transport_comparison> points, const lamport_threshold& threshold);

}  // namespace switchyard::harness
