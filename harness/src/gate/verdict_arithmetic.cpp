// SPDX-License-Identifier: Apache-2.0
// One verdict, step by step.
#include <algorithm>

#include "gate_text.hpp"
#include "switchyard/harness/gate/verdict_record.hpp"

namespace switchyard::harness::gate {
namespace {

std::string side_text(const char* name, const std::vector<double>& times_us, double median, std::size_t marked) {
  std::string text = std::string("  ") + name + std::to_string(times_us.size()) + " launches, median " +
                     us_text(median) + " us; sorted:";
  auto sorted = times_us;
  std::ranges::sort(sorted);
  constexpr std::size_t shown = 20;
  for (std::size_t i = 0; i < std::min(shown, sorted.size()); ++i) text += ' ' + us_text(sorted[i]);
  if (sorted.size() > shown) text += " ... " + us_text(sorted.back());
  text += '\n';
  if (marked > 0) {
    text += "           clocks, throttling or errors moved during " + std::to_string(marked) +
            " of them, which count all the same\n";
  }
  return text;
}

std::string interval_text(const scenario_verdict& one) {
  const auto rank = interval_rank(one.base_us.size(), one.current_us.size());
  if (!rank || !one.shift_us.lower) {
    return "           so few launches bound no interval\n";
  }
  return "           interval: the differences number " + std::to_string(*rank) + " from either end, " +
         signed_us(*one.shift_us.lower) + " to " + signed_us(*one.shift_us.upper) +
         " us, each bound with 95 % certainty\n";
}

std::string decision_text(const scenario_verdict& one, const gate_rules& rules) {
  const auto lower = one.shift_us.lower ? signed_us(*one.shift_us.lower) : std::string("none");
  const auto upper = one.shift_us.upper ? signed_us(*one.shift_us.upper) : std::string("none");
  const auto floor = us_text(one.floor_us);
  const auto answer = [](bool yes) { return yes ? "yes" : "no"; };
  const auto launches = std::min(one.base_us.size(), one.current_us.size());
  const auto needed = one.judged > rules.many_scenarios ? rules.full_launches : rules.least_launches;
  std::string text = "  launches " + std::to_string(launches) + " a side, at least " + std::to_string(needed) +
                     " needed for " + std::to_string(one.judged) + " scenarios: " + answer(launches >= needed) + '\n';
  text += "  regressed needs q " + q_text(one.q) + " < " + q_text(rules.q) + " (" + answer(one.q < rules.q) +
          ") and lower bound " + lower + " > floor " + floor + " (" +
          answer(one.shift_us.lower.value_or(0) > one.floor_us) + ")\n";
  text += "  improved needs the same q and upper bound " + upper + " < -" + floor + " (" +
          answer(one.shift_us.upper.value_or(0) < -one.floor_us) + ")\n";
  text += "  inconclusive is what is neither and whose shift " + signed_us(one.shift_us.shift) + " > floor " + floor +
          " (" + answer(one.shift_us.shift > one.floor_us) + ")\n";
  return text;
}

}  // namespace

std::string arithmetic_of(const scenario_verdict& one, const gate_rules& rules) {
  std::string text = one.id + ": " + std::string(to_string(one.verdict)) + "\n  " + one.reason + '\n';
  if (!one.waived_by.empty()) text += "  waived: " + one.waived_by + '\n';
  if (!one.base_us.empty()) text += side_text("base     ", one.base_us, one.base_median_us, one.base_marked);
  if (!one.current_us.empty()) {
    text += side_text("here     ", one.current_us, one.current_median_us, one.current_marked);
  }
  if (!one.has_times() || one.judged == 0) return text;
  const auto pairs = std::to_string(one.base_us.size() * one.current_us.size());
  text += "  U test   slower in " + formatted("%.1f", one.test.u) + " of " + pairs +
          " pairs (ties count half); two-sided p = " + q_text(one.test.p_two_sided) +
          (one.test.method == rank_sum_method::exact ? ", all ways counted" : ", by the normal approximation") + '\n';
  text += "           the smallest p of so many launches is " +
          q_text(least_p(one.base_us.size(), one.current_us.size())) + '\n';
  text += "  q        " + q_text(one.q) + ", Benjamini and Hochberg over " + std::to_string(one.judged) +
          " scenarios judged together\n";
  text += "  shift    median of " + pairs + " differences: " + signed_us(one.shift_us.shift) + " us (" +
          signed_percent(whole * one.shift_us.shift / one.base_median_us) + " %)\n" + interval_text(one);
  text += "  floor    the largest of " + formatted("%g", rules.percent) + " % of " + us_text(one.base_median_us) +
          " = " + us_text(one.base_median_us * rules.percent / whole) + ", " + us_text(rules.least_us) +
          " and noise of A/A launches " + (one.noise_us ? us_text(*one.noise_us) : std::string("(not measured)")) +
          ": " + us_text(one.floor_us) + " us\n";
  return text + decision_text(one, rules);
}

}  // namespace switchyard::harness::gate
