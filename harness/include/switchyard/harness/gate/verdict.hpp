// SPDX-License-Identifier: Apache-2.0
// What is said of a scenario whose times, or statuses, were taken twice. Pure functions of samples and rules.
//
// A sample is a launch: a fresh group of processes. Iterations inside one share what it drew when it began (addresses,
// clocks, placement), so they are not independent, and many of them do not make up for few launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/gate/statistics.hpp"

namespace switchyard::harness::gate {

enum class gate_verdict : std::uint8_t {
  pass,          ///< no slower than the floor allows, as far as so many launches can tell
  regressed,     ///< slower, beyond chance and beyond the floor
  improved,      ///< faster, beyond chance and beyond the floor
  inconclusive,  ///< too few launches, or slower than the floor by an estimate that could be chance
  missing,       ///< in the base and not, or not run, in what is compared with it
  failed,        ///< its result was wrong, or it did not end well
};
inline constexpr std::size_t num_gate_verdicts = 6;
std::string_view to_string(gate_verdict which) noexcept;

/// What counts. The defaults are those of the gate.
struct gate_rules {
  double percent = 2;               ///< of the base's median: a smaller shift is never a regression
  double least_us = 0.3;            ///< nor is one below this
  double q = 0.05;                  ///< the part of false ones that regressions may have
  std::size_t least_launches = 4;   ///< a side; below, nothing is concluded
  std::size_t full_launches = 8;    ///< a side; below, nothing is concluded for many scenarios at once
  std::size_t many_scenarios = 20;  ///< more than these are many
};

/// What was measured of one scenario.
struct scenario_samples {
  std::string id;
  std::vector<double> base_us;     ///< a value a launch
  std::vector<double> current_us;  ///< the same
  std::size_t base_marked = 0;     ///< launches during which clocks, throttling or errors moved
  std::size_t current_marked = 0;
  std::optional<double> noise_us;  ///< of launches of one build against itself; null: not measured
  std::string failure;             ///< of the current side; empty: none
};

enum class floor_source : std::uint8_t { percent, least_us, noise };
std::string_view to_string(floor_source which) noexcept;

struct scenario_verdict {
  std::string id;
  gate_verdict verdict = gate_verdict::missing;
  std::string reason;           ///< one line
  std::vector<double> base_us;  ///< what was judged
  std::vector<double> current_us;
  std::size_t base_marked = 0;
  std::size_t current_marked = 0;
  std::size_t judged = 0;  ///< scenarios whose p values were taken together
  double base_median_us = 0;
  double current_median_us = 0;
  rank_sum_test test;
  double q = 1;
  shift_estimate shift_us;
  double floor_us = 0;
  floor_source floor_from = floor_source::percent;
  std::optional<double> noise_us;
  std::string waived_by;  ///< the waiver that keeps this from failing the run; empty: none

  [[nodiscard]] bool has_times() const noexcept { return !base_us.empty() && !current_us.empty(); }
};

/// The floor of a scenario: the largest of all that a shift must exceed.
struct shift_floor {
  double us = 0;
  floor_source from = floor_source::percent;
};
shift_floor floor_of(double base_median_us, std::optional<double> noise_us, const gate_rules& rules);

/// A verdict for each, in the same order. Scenarios without base samples have none: leave them out.
std::vector<scenario_verdict> judge(std::span<const scenario_samples> scenarios, const gate_rules& rules);

/// The verdict and its reason, of times that were measured: from counts of launches, shift_us, floor_us, q and judged.
void decide(scenario_verdict& one, const gate_rules& rules);

/// A gate as a whole.
struct gate_result {
  std::vector<scenario_verdict> scenarios;
  std::vector<std::string> only_in_current;  ///< ids; nothing to compare them with
  std::vector<std::string> failures;         ///< that belong to no one scenario, such as a launch that ended badly
  std::vector<std::string> notes;            ///< what a reader should know and no exit code rests on
  std::string keys_differ;                   ///< why nothing was judged, of the testbeds; empty: they agree

  [[nodiscard]] std::array<std::size_t, num_gate_verdicts> counts() const;  ///< without those that are waived
  [[nodiscard]] std::size_t count(gate_verdict which) const { return counts()[static_cast<std::size_t>(which)]; }
};

/// failed and missing before all, then nothing to judge, regressed, inconclusive, nothing that passed: where all is
/// waived, nothing tells that the build is any good.
exit_code exit_code_of(const gate_result& result);

/// The middle of values; the mean of the middle two. Precondition: not empty.
double median_us(std::vector<double> values);

}  // namespace switchyard::harness::gate
