// SPDX-License-Identifier: Apache-2.0
// What the gate would do to real samples: launches of one build, dealt at random to two sides, as they are and with a
// slowdown put in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/gate/sample_set.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {

struct selftest_options {
  int trials = 100;
  double slower_percent = 6;  ///< put in, or times_noise of that scenario's noise where that is more
  double times_noise = 3;
  std::uint64_t seed = 1;
};

struct selftest_rates {
  std::size_t launches = 0;      ///< a side
  std::size_t scenarios = 0;     ///< with enough launches and a noise
  std::size_t left_out = 0;      ///< without
  std::size_t trials = 0;        ///< of each scenario
  std::size_t slowed = 0;        ///< scenarios times trials
  std::size_t flagged = 0;       ///< of these called regressed
  std::size_t unchanged = 0;     ///< scenarios times trials, nothing put in
  std::size_t false_alarms = 0;  ///< of these called regressed
  std::size_t undecided = 0;     ///< of these called inconclusive
  std::size_t plain_alarms = 0;  ///< of these a plain rule would flag: median 5 % above median
  struct scenario_rate {
    std::string id;
    double noise_percent = 0;
    std::size_t flagged = 0;
    std::size_t false_alarms = 0;
  };
  std::vector<scenario_rate> of;  ///< by id

  [[nodiscard]] double detection() const;   ///< flagged / slowed, of the scenario that is worst
  [[nodiscard]] double alarm_rate() const;  ///< false_alarms / unchanged
  [[nodiscard]] double plain_rate() const;  ///< plain_alarms / unchanged
};

/// Sides are halves of the launches, the same launches for every scenario, so that what they have in common stays. In a
/// trial a tenth of the scenarios is slowed at a time: the others are judged with them. Throws input_error when no
/// scenario has enough launches (twice gate_rules::full_launches) and a noise.
selftest_rates self_test(const sample_set& aa, const gate_rules& rules, const selftest_options& options);

nlohmann::ordered_json to_json(const selftest_rates& rates, const selftest_options& options);
/// A few lines and the scenarios whose noise exceeds the percentage, or that were not always found.
std::string selftest_text(const selftest_rates& rates, const gate_rules& rules, const selftest_options& options);

}  // namespace switchyard::harness::gate
