// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/compare.hpp"

#include <algorithm>

namespace switchyard::harness::gate {
namespace {

/// Of the base alone: launches that are to be judged must not say what may be overlooked in them.
std::optional<double> noise_of(const sample_set& base, const std::string& id) {
  const auto found = base.noise_us.find(id);
  return found == base.noise_us.end() ? std::nullopt : std::optional(found->second);
}

/// Of a case of a run: only whether it passed.
scenario_verdict judge_status(const std::string& id, const sample_series* base, const sample_series* current) {
  const auto word = [](const sample_series* series, const char* absent) {
    return series == nullptr ? std::string(absent) : series->status.empty() ? std::string("times") : series->status;
  };
  scenario_verdict one;
  one.id = id;
  const auto status = word(current, "missing");
  one.reason = word(base, "not") + " in the base, " + status + " here";
  if (status == "pass") {
    one.verdict = gate_verdict::pass;
  } else if (status != "skipped" && status != "missing" && status != "times") {
    one.verdict = gate_verdict::failed;
  }
  if (status == "waived") one.waived_by = "the run that it is a case of";
  return one;
}

void judge_statuses(const sample_set& base, const sample_set& current, gate_result& result) {
  std::size_t skipped = 0;
  for (const auto& series : base.series) {
    if (series.status.empty()) continue;
    const auto* other = current.find(series.id);
    if (series.status == "skipped" && other != nullptr && other->status == "skipped") {
      ++skipped;
      continue;
    }
    result.scenarios.push_back(judge_status(series.id, &series, other));
  }
  if (skipped > 0) result.notes.push_back("skipped in both, so left out: " + std::to_string(skipped));
  for (const auto& series : current.series) {
    if (base.find(series.id) != nullptr) continue;
    // That it is new excuses no wrong result.
    const auto judged = judge_status(series.id, nullptr, &series);
    if (judged.verdict == gate_verdict::failed && judged.waived_by.empty()) {
      result.scenarios.push_back(judged);
    } else {
      result.only_in_current.push_back(series.id);
    }
  }
}

/// Why times of these must not be judged; empty: they may.
std::string obstacle_between(const sample_set& base, const sample_set& current) {
  if (base.bed != current.bed) {
    return "the testbeds differ: base on " + key_of(base.bed) + "; here on " + key_of(current.bed);
  }
  const auto unknown = base.has_times() ? unknown_parts(base.bed) : std::string();
  return unknown.empty() ? unknown : "the testbed is not known: no " + unknown + " in " + key_of(base.bed);
}

void note_what_is_not_known(const sample_set& base, const std::vector<scenario_samples>& timed, gate_result& result) {
  if (timed.empty()) return;
  if (base.bed.links.empty()) result.notes.push_back("links of the GPUs are unknown on either side");
  const auto unmeasured =
      std::ranges::count_if(timed, [](const scenario_samples& one) { return !one.noise_us.has_value(); });
  if (unmeasured > 0) {
    result.notes.push_back("the base has no A/A noise of " + std::to_string(unmeasured) + " of " +
                           std::to_string(timed.size()) +
                           " scenarios: a floor below the noise of launches tells regressions that are none; bench "
                           "--aa measures it");
  }
}

gate_result show_side_by_side(const sample_set& base, const sample_set& current) {
  gate_result result;
  for (const auto& series : base.series) {
    const auto* other = current.find(series.id);
    scenario_verdict one;
    one.id = series.id;
    one.verdict = gate_verdict::inconclusive;
    one.reason = base.bed == current.bed ? "a testbed that is not known" : "another testbed";
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
  const auto obstacle = obstacle_between(base, current);
  auto result = obstacle.empty() ? gate_result() : show_side_by_side(base, current);
  result.keys_differ = obstacle;
  // Whoever accepted the base knew of them; the candidate cannot mend them.
  for (const auto& why : base.failures) result.notes.push_back("base, " + why);
  result.failures = current.failures;
  if (!obstacle.empty()) {
    for (const auto& series : current.series) {
      if (base.find(series.id) == nullptr) result.only_in_current.push_back(series.id);
    }
    return result;
  }
  judge_statuses(base, current, result);
  std::vector<scenario_samples> timed;
  for (const auto& series : base.series) {
    if (!series.status.empty()) continue;
    scenario_samples one;
    one.id = series.id;
    one.base_us = series.time_us;
    one.base_marked = series.marked;
    one.noise_us = noise_of(base, series.id);
    if (const auto* other = current.find(series.id); other != nullptr) {
      one.current_us = other->time_us;
      one.current_marked = other->marked;
    }
    timed.push_back(std::move(one));
  }
  note_what_is_not_known(base, timed, result);
  for (auto& one : judge(timed, rules)) result.scenarios.push_back(std::move(one));
  return result;
}

}  // namespace switchyard::harness::gate
