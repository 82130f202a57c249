// SPDX-License-Identifier: Apache-2.0
// The noise of a bench: the same thing measured again and again, each time by a process of its own. What differs then
// is no difference of what is measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

/// One figure, a value per process in the order in which they ran.
struct repeat_noise {
  double median_us = 0;
  double spread_us = 0;               ///< largest minus smallest
  std::optional<double> aa_shift_us;  ///< |median of A - median of B|, processes dealt A B B A; null below 4 of them
};
/// Precondition: not empty.
repeat_noise noise_of(std::span<const double> of_processes);

struct repeated_point {
  std::int64_t tokens = 0;
  bench_transport asked = bench_transport::automatic;
  transport taken = transport::fence;
  std::vector<double> round_trip_us;
  std::vector<double> dispatch_us;
  std::vector<double> combine_us;
  bench_shape shape = {};
};

/// Runs `command` so many times, one after the other: a program that prints the lines of a bench. Tells each run as it
/// begins. One that fails, or is silent for `patience`, is told and counts for nothing.
std::vector<repeated_point> collect_repeats(const std::vector<std::string>& command, int repeats,
                                            std::chrono::seconds patience,
                                            const std::function<void(const std::string&)>& note);

nlohmann::ordered_json to_json(const repeated_point& point);
/// A Markdown table, one row per point and transport.
std::string repeat_table(const std::vector<repeated_point>& points);

}  // namespace switchyard::harness
