// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gate_text.hpp"
#include "switchyard/harness/gate/verdict_record.hpp"

namespace switchyard::harness::gate {
namespace {

std::string row_of(const scenario_verdict& one) {
  const auto time = [](const std::vector<double>& times, double median) {
    return times.empty() ? std::string("null") : us_text(median);
  };
  std::string row = "| " + one.id + " | " + std::string(to_string(one.verdict)) +
                    (one.waived_by.empty() ? "" : " (waived)") + " | " + time(one.base_us, one.base_median_us) + " | " +
                    time(one.current_us, one.current_median_us) + " | ";
  if (one.judged > 0) {
    row += signed_us(one.shift_us.shift) + " | " + signed_percent(whole * one.shift_us.shift / one.base_median_us) +
           " | " +
           (one.shift_us.lower ? signed_us(*one.shift_us.lower) + " to " + signed_us(*one.shift_us.upper) : "null") +
           " | " + us_text(one.floor_us) + " " + std::string(to_string(one.floor_from)) + " | " + q_text(one.q) + " |";
  } else {
    row += "null | null | null | null | null |";
  }
  return row + '\n';
}

std::string list_of(const std::vector<std::string>& ids) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, ids.size()); ++i) text += (i == 0 ? "" : ", ") + ids[i];
  return text + (ids.size() > shown ? ", ..." : "");
}

/// Scenarios that are too noisy for a small regression to be seen: their noise, not the percentage, is the floor.
std::vector<std::string> noisy(const gate_result& result, const gate_rules& rules) {
  std::vector<std::string> ids;
  for (const auto& one : result.scenarios) {
    if (one.noise_us && one.base_median_us > 0 && whole * *one.noise_us > rules.percent * one.base_median_us) {
      ids.push_back(one.id + " (" + formatted("%.1f", whole * *one.noise_us / one.base_median_us) + " %)");
    }
  }
  return ids;
}

}  // namespace

std::string verdict_table(const gate_result& result, table_rows rows) {
  std::string body;
  for (const auto& one : result.scenarios) {
    if (rows == table_rows::all || one.verdict != gate_verdict::pass) body += row_of(one);
  }
  if (body.empty()) return body;
  return "| scenario | verdict | base us | here us | shift us | shift % | interval us | floor us | q |\n"
         "| --- | --- | ---: | ---: | ---: | ---: | --- | --- | ---: |\n" +
         body;
}

std::string verdict_summary(const gate_result& result, const gate_rules& rules, const sample_set& base,
                            const sample_set& current) {
  std::string text = "base: " + base.source + ", " + base.build + ", " + std::to_string(base.launches) +
                     " launches\nhere: " + current.source + ", " + current.build + ", " +
                     std::to_string(current.launches) + " launches\n";
  for (const auto& why : result.failures) text += "failed: " + why + '\n';
  for (const auto& what : result.notes) text += "note: " + what + '\n';
  if (!result.keys_differ.empty()) text += result.keys_differ + "; shown side by side, not compared\n";
  if (!result.only_in_current.empty()) {
    text += "not in the base, so not compared: " + std::to_string(result.only_in_current.size()) + ": " +
            list_of(result.only_in_current) + '\n';
  }
  if (const auto ids = noisy(result, rules); !ids.empty()) {
    text += "noise above " + formatted("%g", rules.percent) + " %: " + std::to_string(ids.size()) + ": " +
            list_of(ids) + '\n';
  }
  const auto counts = result.counts();
  std::string verdicts;
  std::size_t waived = 0;
  for (const auto& one : result.scenarios) waived += one.waived_by.empty() ? 0U : 1U;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    verdicts += (verdicts.empty() ? "" : ", ") + std::to_string(counts[i]) + ' ' +
                std::string(to_string(static_cast<gate_verdict>(i)));
  }
  if (waived > 0) verdicts += (verdicts.empty() ? "" : ", ") + std::to_string(waived) + " waived";
  return text + (verdicts.empty() ? "nothing was compared" : verdicts) + '\n';
}

}  // namespace switchyard::harness::gate
