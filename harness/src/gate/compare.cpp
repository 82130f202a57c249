// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/compare.hpp"

#include <algorithm>

namespace switchyard::harness::gate {
namespace {

std::optional<double> noise_of(const sample_set& base, const sample_set& current, const std::string& id) {
  std::optional<double> noise;
  for (const auto* set : {&base, &current}) {
    if (const auto found = set->noise_us.find(id); found != set->noise_us.end()) {
      noise = std::max(noise.value_or(0), found->second);
    }
  }
  return noise;
}

/// Of a case of a run: only whether it passed.
scenario_verdict judge_status(const sample_series& base, const sample_series* current) {
  scenario_verdict one;
  one.id = base.id;
  const auto status = current == nullptr ? std::string("missing") : current->status;
  one.reason = base.status + " in the base, " + (status.empty() ? "times" : status) + " here";
  if (status == "pass") {
    one.verdict = gate_verdict::pass;
  } else if (status != "skipped" && status != "missing" && status != "waived" && !status.empty()) {
    one.verdict = gate_verdict::failed;
  }
  return one;
}

gate_result show_side_by_side(const sample_set& base, const sample_set& current) {
  gate_result result;
  result.keys_differ = "the testbeds differ: base on " + key_of(base.bed) + "; here on " + key_of(current.bed);
  for (const auto& series : base.series) {
    const auto* other = current.find(series.id);
    scenario_verdict one;
    one.id = series.id;
    one.verdict = gate_verdict::inconclusive;
    one.reason = "another testbed";
    one.base_us = series.time_us;
    if (other != nullptr) one.current_us = other->time_us;
    if (!one.base_us.empty()) one.base_median_us = median_us(one.base_us);
    if (!one.current_us.empty()) one.current_median_us = median_us(one.current_us);
    result.scenarios.push_back(std::move(one));
  }
  return result;
}

}  // namespace

gate_result compare_sets(const sample_set& base, const sample_set& current, const gate_rules& rules) {
  const bool same_bed = base.bed == current.bed;
  auto result = same_bed ? gate_result() : show_side_by_side(base, current);
  for (const auto& why : base.failures) result.failures.push_back("base, " + why);
  for (const auto& why : current.failures) result.failures.push_back(why);
  for (const auto& series : current.series) {
    if (base.find(series.id) == nullptr) result.only_in_current.push_back(series.id);
  }
  if (!same_bed) return result;
  std::vector<scenario_samples> timed;
  for (const auto& series : base.series) {
    const auto* other = current.find(series.id);
    if (!series.status.empty()) {
      result.scenarios.push_back(judge_status(series, other));
      continue;
    }
    scenario_samples one;
    one.id = series.id;
    one.base_us = series.time_us;
    one.base_marked = series.marked;
    one.noise_us = noise_of(base, current, series.id);
    if (other != nullptr) {
      one.current_us = other->time_us;
      one.current_marked = other->marked;
    }
    timed.push_back(std::move(one));
  }
  for (auto& one : judge(timed, rules)) result.scenarios.push_back(std::move(one));
  return result;
}

}  // namespace switchyard::harness::gate
