// SPDX-License-Identifier: Apache-2.0
// The rules of the gate. Each reason names the numbers that decided.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "gate_text.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {
namespace {

/// Looked up once for all scenarios with as many launches.
class interval_ranks {
 public:
  std::optional<std::size_t> of(std::size_t a, std::size_t b) {
    const auto [found, added] = known_.try_emplace({a, b});
    if (added) found->second = interval_rank(a, b);
    return found->second;
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, std::optional<std::size_t>> known_;
};

std::string shift_text(const scenario_verdict& one) {
  const double percent = 100 * one.shift_us.shift / one.base_median_us;
  std::string text = signed_us(one.shift_us.shift) + " us (" + signed_percent(percent) + " %)";
  if (one.shift_us.lower) {
    text += ", between " + signed_us(*one.shift_us.lower) + " and " + signed_us(*one.shift_us.upper);
  }
  return text + "; floor " + us_text(one.floor_us) + " (" + std::string(to_string(one.floor_from)) + "), q " +
         q_text(one.q);
}

void measure(scenario_verdict& one, const scenario_samples& of, interval_ranks& ranks, const gate_rules& rules) {
  one.test = mann_whitney(of.base_us, of.current_us);
  one.shift_us = hodges_lehmann(of.base_us, of.current_us, ranks.of(of.base_us.size(), of.current_us.size()));
  const auto floor = floor_of(one.base_median_us, of.noise_us, rules);
  one.floor_us = floor.us;
  one.floor_from = floor.from;
}

}  // namespace

std::string_view to_string(gate_verdict which) noexcept {
  switch (which) {
    case gate_verdict::pass: return "pass";
    case gate_verdict::regressed: return "regressed";
    case gate_verdict::improved: return "improved";
    case gate_verdict::inconclusive: return "inconclusive";
    case gate_verdict::missing: return "missing";
    case gate_verdict::failed: return "failed";
  }
  return "unknown";
}

std::string_view to_string(floor_source which) noexcept {
  switch (which) {
    case floor_source::percent: return "percent";
    case floor_source::least_us: return "least_us";
    case floor_source::noise: return "noise";
  }
  return "unknown";
}

double median_us(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

shift_floor floor_of(double base_median_us, std::optional<double> noise_us, const gate_rules& rules) {
  shift_floor result{base_median_us * rules.percent / whole, floor_source::percent};
  if (rules.least_us > result.us) result = {rules.least_us, floor_source::least_us};
  if (noise_us.value_or(0) > result.us) result = {*noise_us, floor_source::noise};
  return result;
}

void decide(scenario_verdict& one, const gate_rules& rules) {
  const auto launches = std::min(one.base_us.size(), one.current_us.size());
  const auto conclude = [&](gate_verdict verdict, const std::string& why) {
    one.verdict = verdict;
    one.reason = why + shift_text(one);
  };
  if (launches < rules.least_launches) {
    return conclude(gate_verdict::inconclusive, "fewer than " + std::to_string(rules.least_launches) +
                                                    " launches a side (" + std::to_string(launches) + "); ");
  }
  if (launches < rules.full_launches && one.judged > rules.many_scenarios) {
    return conclude(gate_verdict::inconclusive, "fewer than " + std::to_string(rules.full_launches) +
                                                    " launches a side (" + std::to_string(launches) + ") for " +
                                                    std::to_string(one.judged) + " scenarios; ");
  }
  const auto& shift = one.shift_us;
  const bool beyond_chance = one.q < rules.q;
  if (beyond_chance && shift.lower.value_or(0) > one.floor_us) return conclude(gate_verdict::regressed, "slower: ");
  if (beyond_chance && shift.upper.value_or(0) < -one.floor_us) return conclude(gate_verdict::improved, "faster: ");
  if (shift.shift > one.floor_us) {
    return conclude(gate_verdict::inconclusive,
                    beyond_chance ? "slower, perhaps by less than the floor: " : "slower, perhaps by chance: ");
  }
  conclude(gate_verdict::pass, "");
}

std::vector<scenario_verdict> judge(std::span<const scenario_samples> scenarios, const gate_rules& rules) {
  std::vector<scenario_verdict> verdicts;
  verdicts.reserve(scenarios.size());
  interval_ranks ranks;
  std::vector<double> p;
  for (const auto& of : scenarios) {
    scenario_verdict one;
    one.id = of.id;
    one.base_us = of.base_us;
    one.current_us = of.current_us;
    one.base_marked = of.base_marked;
    one.current_marked = of.current_marked;
    one.noise_us = of.noise_us;
    if (!of.base_us.empty()) one.base_median_us = median_us(of.base_us);
    if (!of.current_us.empty()) one.current_median_us = median_us(of.current_us);
    if (one.has_times()) {
      measure(one, of, ranks, rules);
      p.push_back(one.test.p_two_sided);
    }
    verdicts.push_back(std::move(one));
  }
  const auto q = benjamini_hochberg(p);
  std::size_t next = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    auto& one = verdicts[i];
    if (one.has_times()) {
      one.q = q[next++];
      one.judged = q.size();
      decide(one, rules);
    } else {
      one.reason = "measured in the base, and not here";
    }
    if (!scenarios[i].failure.empty()) {  // whatever it took: a wrong result has no time
      one.verdict = gate_verdict::failed;
      one.reason = scenarios[i].failure;
    }
  }
  return verdicts;
}

std::array<std::size_t, num_gate_verdicts> gate_result::counts() const {
  std::array<std::size_t, num_gate_verdicts> number{};
  for (const auto& one : scenarios) {
    if (one.waived_by.empty()) ++number[static_cast<std::size_t>(one.verdict)];
  }
  return number;
}

exit_code exit_code_of(const gate_result& result) {
  const auto number = result.counts();
  const auto any = [&](gate_verdict which) { return number[static_cast<std::size_t>(which)] != 0; };
  if (any(gate_verdict::failed) || any(gate_verdict::missing) || !result.failures.empty()) return exit_code::failed;
  if (!result.keys_differ.empty()) return exit_code::inconclusive;
  if (result.scenarios.empty()) return exit_code::environment;  // nothing was compared, so nothing passed
  if (any(gate_verdict::regressed)) return exit_code::regressed;
  if (any(gate_verdict::inconclusive)) return exit_code::inconclusive;
  if (!any(gate_verdict::pass) && !any(gate_verdict::improved)) return exit_code::environment;  // all of it is waived
  return exit_code::all_passed;
}

}  // namespace switchyard::harness::gate
