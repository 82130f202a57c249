// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/verdict_record.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "gate_text.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

using json = nlohmann::ordered_json;

template <class Value>
json value_or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

json rules_json(const gate_rules& rules) {
  return {{"percent", rules.percent},
          {"least_us", rules.least_us},
          {"q", rules.q},
          {"least_launches", rules.least_launches},
          {"full_launches", rules.full_launches},
          {"many_scenarios", rules.many_scenarios}};
}

gate_rules rules_from(const nlohmann::json& of) {
  gate_rules rules;
  of.at("percent").get_to(rules.percent);
  of.at("least_us").get_to(rules.least_us);
  of.at("q").get_to(rules.q);
  of.at("least_launches").get_to(rules.least_launches);
  of.at("full_launches").get_to(rules.full_launches);
  of.at("many_scenarios").get_to(rules.many_scenarios);
  return rules;
}

json side_json(const std::vector<double>& times_us, double median, std::size_t marked) {
  json side;
  side["launches"] = times_us.size();
  side["marked_launches"] = marked;
  side["median_us"] = times_us.empty() ? json() : json(median);
  side["times_us"] = times_us;
  return side;
}

json set_json(const sample_set& set) {
  return {{"source", set.source}, {"build", set.build}, {"clean", set.clean}, {"testbed", to_json(set.bed)}};
}

gate_verdict verdict_named(const std::string& name) {
  for (std::size_t i = 0; i < num_gate_verdicts; ++i) {
    if (to_string(static_cast<gate_verdict>(i)) == name) return static_cast<gate_verdict>(i);
  }
  throw input_error("verdict " + name + " is unknown");
}

/// Whether a verdict can be, where no times were judged: of statuses, of a side without samples, or of other testbeds.
bool can_be_without_judging(const scenario_verdict& one) {
  using enum gate_verdict;
  if (one.verdict == failed || one.verdict == inconclusive) return true;
  if (one.has_times()) return false;
  const bool of_statuses = one.base_us.empty() && one.current_us.empty();
  return one.verdict == missing || (one.verdict == pass && of_statuses);
}

/// The samples judged again: what is recorded must be what they say. q also rests on other scenarios, and a failure on
/// more than times.
void check(const recorded_verdict& recorded, const std::string& where) {
  const auto& one = recorded.verdict;
  const auto contradicts = [&](const std::string& word) {
    refuse({where, ""}, "", "the record says " + std::string(to_string(one.verdict)) + ", and its samples " + word);
  };
  if (one.judged == 0) {
    if (!can_be_without_judging(one)) contradicts("were not judged");
    return;
  }
  if (!one.has_times()) contradicts("are not there");
  scenario_samples of{one.id, one.base_us, one.current_us, one.base_marked, one.current_marked, one.noise_us, {}};
  auto again = judge(std::vector{std::move(of)}, recorded.rules).front();
  const auto same = [](double left, double right) { return std::abs(left - right) <= 1e-9 * (1 + std::abs(left)); };
  const auto same_bound = [&](const std::optional<double>& left, const std::optional<double>& right) {
    return left.has_value() == right.has_value() && (!left || same(*left, *right));
  };
  if (!same(again.test.p_two_sided, one.test.p_two_sided) || !same(again.shift_us.shift, one.shift_us.shift) ||
      !same(again.floor_us, one.floor_us) || !same_bound(again.shift_us.lower, one.shift_us.lower) ||
      !same_bound(again.shift_us.upper, one.shift_us.upper) || one.q < one.test.p_two_sided * (1 - 1e-9)) {
    refuse({where, ""}, "", "the record's numbers are not those of its samples");
  }
  if (one.verdict == gate_verdict::failed) return;
  again.q = one.q;
  again.judged = one.judged;
  decide(again, recorded.rules);
  if (again.verdict != one.verdict) contradicts(std::string(to_string(again.verdict)));
}

}  // namespace

json to_json(const scenario_verdict& one, const gate_rules& rules) {
  json record;
  record["record"] = "gate_verdict";
  record["schema"] = verdict_schema;
  record["scenario"] = one.id;
  record["verdict"] = to_string(one.verdict);
  record["reason"] = one.reason;
  record["waived_by"] = one.waived_by.empty() ? json() : json(one.waived_by);
  record["base"] = side_json(one.base_us, one.base_median_us, one.base_marked);
  record["current"] = side_json(one.current_us, one.current_median_us, one.current_marked);
  const bool judged = one.judged > 0;
  record["u_test"] = judged ? json{{"u", one.test.u},
                                   {"p_two_sided", one.test.p_two_sided},
                                   {"method", to_string(one.test.method)},
                                   {"judged_together", one.judged},
                                   {"q", one.q}}
                            : json();
  record["shift"] = judged ? json{{"shift_us", one.shift_us.shift},
                                  {"lower_us", value_or_null(one.shift_us.lower)},
                                  {"upper_us", value_or_null(one.shift_us.upper)},
                                  {"percent", whole * one.shift_us.shift / one.base_median_us}}
                           : json();
  record["floor"] = judged ? json{{"floor_us", one.floor_us}, {"from", to_string(one.floor_from)}} : json();
  record["noise_us"] = value_or_null(one.noise_us);
  record["rules"] = rules_json(rules);
  return record;
}

json summary_json(const gate_result& result, const gate_rules& rules, const sample_set& base,
                  const sample_set& current) {
  const auto code = exit_code_of(result);
  json record;
  record["record"] = "gate_summary";
  record["schema"] = verdict_schema;
  record["exit_code"] = static_cast<int>(code);
  record["meaning"] = meaning(code);
  const auto counts = result.counts();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    record["verdicts"][std::string(to_string(static_cast<gate_verdict>(i)))] = counts[i];
  }
  record["only_in_current"] = result.only_in_current;
  record["failures"] = result.failures;
  record["notes"] = result.notes;
  record["testbeds_differ"] = result.keys_differ.empty() ? json() : json(result.keys_differ);
  record["base"] = set_json(base);
  record["current"] = set_json(current);
  record["rules"] = rules_json(rules);
  return record;
}

recorded_verdict verdict_from(const nlohmann::json& record, const std::string& where) {
  recorded_verdict recorded;
  auto& one = recorded.verdict;
  try {
    if (record.at("record") != "gate_verdict" || record.at("schema") != verdict_schema) {
      refuse({where, ""}, "", "must be a gate_verdict of schema " + std::to_string(verdict_schema));
    }
    recorded.rules = rules_from(record.at("rules"));
    record.at("scenario").get_to(one.id);
    one.verdict = verdict_named(record.at("verdict").get<std::string>());
    record.at("reason").get_to(one.reason);
    if (record.at("waived_by").is_string()) record["waived_by"].get_to(one.waived_by);
    record.at("base").at("times_us").get_to(one.base_us);
    record.at("current").at("times_us").get_to(one.current_us);
    record.at("base").at("marked_launches").get_to(one.base_marked);
    record.at("current").at("marked_launches").get_to(one.current_marked);
    if (!one.base_us.empty()) one.base_median_us = median_us(one.base_us);
    if (!one.current_us.empty()) one.current_median_us = median_us(one.current_us);
    if (record.at("noise_us").is_number()) one.noise_us = record["noise_us"].get<double>();
    const auto& test = record.at("u_test");
    if (test.is_null()) {
      check(recorded, where);
      return recorded;
    }
    test.at("u").get_to(one.test.u);
    test.at("p_two_sided").get_to(one.test.p_two_sided);
    one.test.method =
        test.at("method") == to_string(rank_sum_method::exact) ? rank_sum_method::exact : rank_sum_method::normal;
    test.at("judged_together").get_to(one.judged);
    test.at("q").get_to(one.q);
    const auto& shift = record.at("shift");
    shift.at("shift_us").get_to(one.shift_us.shift);
    if (shift.at("lower_us").is_number()) one.shift_us.lower = shift["lower_us"].get<double>();
    if (shift.at("upper_us").is_number()) one.shift_us.upper = shift["upper_us"].get<double>();
    record.at("floor").at("floor_us").get_to(one.floor_us);
    one.floor_from = floor_of(one.base_median_us, one.noise_us, recorded.rules).from;
  } catch (const nlohmann::json::exception& error) {
    refuse({where, ""}, "", std::string("is no whole verdict: ") + error.what());
  }
  check(recorded, where);
  return recorded;
}

}  // namespace switchyard::harness::gate
