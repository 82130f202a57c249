// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/selftest.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "gate_text.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

constexpr std::size_t slowed_at_a_time = 10;  ///< every tenth

struct candidate {
  const sample_series* series;
  double noise_us;
  double median_us;
};

std::vector<candidate> candidates_of(const sample_set& aa, std::size_t launches) {
  std::vector<candidate> result;
  for (const auto& one : aa.series) {
    const auto noise = aa.noise_us.find(one.id);
    if (one.time_us.size() == launches && noise != aa.noise_us.end()) {
      result.push_back({&one, noise->second, median_us(one.time_us)});
    }
  }
  return result;
}

std::vector<scenario_samples> dealt(const std::vector<candidate>& candidates, const std::vector<std::size_t>& order) {
  std::vector<scenario_samples> result;
  const auto half = order.size() / 2;
  for (const auto& of : candidates) {
    scenario_samples one;
    one.id = of.series->id;
    one.noise_us = of.noise_us;
    for (std::size_t i = 0; i < order.size(); ++i) {
      (i < half ? one.base_us : one.current_us).push_back(of.series->time_us[order[i]]);
    }
    result.push_back(std::move(one));
  }
  return result;
}

void slow_down(scenario_samples& one, const candidate& of, const selftest_options& options) {
  const double percent = options.slower_percent / whole;
  const double by_noise = options.times_noise * of.noise_us;
  for (auto& time : one.current_us) {
    time += percent * of.median_us >= by_noise ? percent * time : by_noise;
  }
}

void count_unchanged(selftest_rates& rates, std::span<const scenario_samples> samples, const gate_rules& rules) {
  constexpr double plain = 1.05;
  const auto verdicts = judge(samples, rules);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    ++rates.unchanged;
    if (verdicts[i].verdict == gate_verdict::regressed) {
      ++rates.false_alarms;
      ++rates.of[i].false_alarms;
    }
    if (verdicts[i].verdict == gate_verdict::inconclusive) ++rates.undecided;
    if (verdicts[i].current_median_us > plain * verdicts[i].base_median_us) ++rates.plain_alarms;
  }
}

double part(std::size_t count, std::size_t of) {
  return of == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of);
}

}  // namespace

double selftest_rates::detection() const {
  std::size_t least = trials;
  for (const auto& one : of) least = std::min(least, one.flagged);
  return part(least, trials);
}
double selftest_rates::alarm_rate() const { return part(false_alarms, unchanged); }
double selftest_rates::plain_rate() const { return part(plain_alarms, unchanged); }

selftest_rates self_test(const sample_set& aa, const gate_rules& rules, const selftest_options& options) {
  std::size_t launches = 0;
  for (const auto& one : aa.series) launches = std::max(launches, one.time_us.size());
  const auto candidates = candidates_of(aa, launches);
  if (candidates.empty() || launches < 2 * rules.full_launches) {
    refuse({aa.source, ""}, "",
           "must have noise and at least " + std::to_string(2 * rules.full_launches) +
               " launches of a scenario, as bench --aa writes them");
  }
  selftest_rates rates;
  rates.launches = launches / 2;
  rates.scenarios = candidates.size();
  rates.left_out = aa.series.size() - candidates.size();
  rates.trials = static_cast<std::size_t>(options.trials);
  for (const auto& one : candidates) rates.of.push_back({one.series->id, whole * one.noise_us / one.median_us, 0, 0});
  std::mt19937_64 draw(options.seed);
  std::vector<std::size_t> order(launches);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int trial = 0; trial < options.trials; ++trial) {
    for (auto left = order.size(); left > 1; --left) std::swap(order[left - 1], order[draw() % left]);
    const auto samples = dealt(candidates, order);
    count_unchanged(rates, samples, rules);
    for (std::size_t group = 0; group < std::min(slowed_at_a_time, samples.size()); ++group) {
      auto slowed = samples;
      for (auto i = group; i < slowed.size(); i += slowed_at_a_time) slow_down(slowed[i], candidates[i], options);
      const auto verdicts = judge(slowed, rules);
      for (auto i = group; i < slowed.size(); i += slowed_at_a_time) {
        ++rates.slowed;
        if (verdicts[i].verdict != gate_verdict::regressed) continue;
        ++rates.flagged;
        ++rates.of[i].flagged;
      }
    }
  }
  return rates;
}

nlohmann::ordered_json to_json(const selftest_rates& rates, const selftest_options& options) {
  nlohmann::ordered_json json{{"record", "gate_selftest"},
                              {"schema", 1},
                              {"launches_a_side", rates.launches},
                              {"scenarios", rates.scenarios},
                              {"left_out", rates.left_out},
                              {"trials", rates.trials},
                              {"seed", options.seed},
                              {"slower_percent", options.slower_percent},
                              {"times_noise", options.times_noise},
                              {"slowed", rates.slowed},
                              {"flagged", rates.flagged},
                              {"detection_of_the_worst", rates.detection()},
                              {"unchanged", rates.unchanged},
                              {"false_alarms", rates.false_alarms},
                              {"inconclusive", rates.undecided},
                              {"false_alarms_of_a_plain_5_percent_rule", rates.plain_alarms}};
  for (const auto& one : rates.of) {
    json["of"].push_back({{"scenario", one.id},
                          {"noise_percent", one.noise_percent},
                          {"flagged", one.flagged},
                          {"false_alarms", one.false_alarms}});
  }
  return json;
}

std::string selftest_text(const selftest_rates& rates, const gate_rules& rules, const selftest_options& options) {
  const auto percent = [](double value) { return formatted("%.2f", whole * value) + " %"; };
  std::string text = std::to_string(rates.scenarios) + " scenarios, " + std::to_string(rates.launches) +
                     " launches a side, " + std::to_string(rates.trials) + " trials" +
                     (rates.left_out == 0 ? "" : "; " + std::to_string(rates.left_out) + " scenarios left out") + '\n';
  text += "slower by " + formatted("%g", options.slower_percent) + " % or " + formatted("%g", options.times_noise) +
          " times the noise: flagged " + percent(part(rates.flagged, rates.slowed)) + ", of the worst scenario " +
          percent(rates.detection()) + '\n';
  text += "unchanged: flagged " + percent(rates.alarm_rate()) + " (a plain 5 % rule " + percent(rates.plain_rate()) +
          "), inconclusive " + percent(part(rates.undecided, rates.unchanged)) + '\n';
  for (const auto& one : rates.of) {
    const bool noisy = one.noise_percent > rules.percent;
    if (!noisy && one.flagged == rates.trials) continue;
    text += "  " + one.id + ": noise " + formatted("%.2f", one.noise_percent) + " %, flagged " +
            std::to_string(one.flagged) + " of " + std::to_string(rates.trials) + '\n';
  }
  return text;
}

}  // namespace switchyard::harness::gate
