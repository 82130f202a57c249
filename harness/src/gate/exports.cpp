// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/exports.hpp"

#include <algorithm>
#include <optional>

#include "gate_text.hpp"
#include "switchyard/harness/junit.hpp"

namespace switchyard::harness::gate {
namespace {

/// Finer than any clock.
std::string number_text(double value) { return formatted("%.9g", value); }

std::string attribute(const char* name, const std::string& value) {
  return ' ' + std::string(name) + "=\"" + xml_escaped(value) + '"';
}

/// The element of JUnit that says what is wrong; empty: nothing is.
std::string element_of(const scenario_verdict& one) {
  if (!one.waived_by.empty()) return "skipped";
  switch (one.verdict) {
    case gate_verdict::pass:
    case gate_verdict::improved: return {};
    case gate_verdict::regressed:
    case gate_verdict::failed: return "failure";
    case gate_verdict::inconclusive:
    case gate_verdict::missing: return "error";
  }
  return "error";
}

std::string junit_case(const std::string& classname, const std::string& name, const std::string& element,
                       const std::string& type, const std::string& message) {
  auto text = "    <testcase" + attribute("classname", classname) + attribute("name", name) + " time=\"0\"";
  if (element.empty()) return text + "/>\n";
  text += ">\n      <" + element;
  if (element != "skipped") text += attribute("type", type);
  return text + attribute("message", message) + "/>\n    </testcase>\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const auto& one : fields) line += (line.empty() ? "" : ",") + csv_field(one);
  return line + "\r\n";
}

std::string or_empty(const std::optional<double>& value) { return value ? number_text(*value) : std::string(); }

std::string label_text(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    if (letter == '\n') {
      escaped += "\\n";
    } else {
      if (letter == '"' || letter == '\\') escaped += '\\';
      escaped += letter;
    }
  }
  return escaped;
}

std::string metric_line(const std::string& name, const std::string& labels, double value) {
  return name + '{' + labels + "} " + number_text(value) + '\n';
}

std::string scenario_label(const scenario_verdict& one) { return "scenario=\"" + label_text(one.id) + '"'; }

std::string metadata(const std::string& name, const char* type, const char* unit, const char* help) {
  std::string text = "# TYPE " + name + ' ' + type + '\n';
  if (*unit != '\0') text += "# UNIT " + name + ' ' + unit + '\n';
  return text + "# HELP " + name + ' ' + help + '\n';
}

}  // namespace

std::string junit_of(const gate_result& result) {
  std::string cases;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
  std::size_t tests = 0;
  const auto add = [&](const std::string& classname, const std::string& name, const std::string& element,
                       const std::string& type, const std::string& message) {
    ++tests;
    failures += element == "failure" ? 1U : 0U;
    errors += element == "error" ? 1U : 0U;
    skipped += element == "skipped" ? 1U : 0U;
    cases += junit_case(classname, name, element, type, message);
  };
  for (const auto& one : result.scenarios) {
    const auto waived = one.waived_by.empty() ? std::string() : "waived (" + one.waived_by + "): ";
    add(one.id.substr(0, one.id.find('@')), one.id, element_of(one), std::string(to_string(one.verdict)),
        waived + one.reason);
  }
  for (const auto& why : result.failures) add("gate", why, "failure", "failed", why);
  if (!result.keys_differ.empty()) add("gate", "testbed", "error", "inconclusive", result.keys_differ);
  if (tests == 0) add("gate", "scenarios", "error", "missing", "nothing was compared");
  const auto counts = attribute("tests", std::to_string(tests)) + attribute("failures", std::to_string(failures)) +
                      attribute("errors", std::to_string(errors)) + attribute("skipped", std::to_string(skipped)) +
                      " time=\"0\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"switchyard\"" + counts +
         ">\n  <testsuite name=\"switchyard.gate\"" + counts + ">\n" + cases + "  </testsuite>\n</testsuites>\n";
}

std::string csv_of(const gate_result& result) {
  auto text = csv_line({"scenario", "verdict", "base_launches", "current_launches", "base_median_us",
                        "current_median_us", "shift_us", "shift_lower_us", "shift_upper_us", "shift_percent",
                        "p_two_sided", "q", "floor_us", "floor_from", "noise_us", "waived_by", "reason"});
  for (const auto& one : result.scenarios) {
    const bool judged = one.judged > 0;
    const auto if_judged = [&](double value) { return judged ? number_text(value) : std::string(); };
    text += csv_line({one.id, std::string(to_string(one.verdict)), std::to_string(one.base_us.size()),
                      std::to_string(one.current_us.size()),
                      one.base_us.empty() ? std::string() : number_text(one.base_median_us),
                      one.current_us.empty() ? std::string() : number_text(one.current_median_us),
                      if_judged(one.shift_us.shift), or_empty(one.shift_us.lower), or_empty(one.shift_us.upper),
                      judged ? number_text(whole * one.shift_us.shift / one.base_median_us) : std::string(),
                      if_judged(one.test.p_two_sided), if_judged(one.q), if_judged(one.floor_us),
                      judged ? std::string(to_string(one.floor_from)) : std::string(), or_empty(one.noise_us),
                      one.waived_by, one.reason});
  }
  return text;
}

std::string openmetrics_of(const gate_result& result) {
  constexpr double seconds_per_us = 1e-6;
  auto text = metadata("switchyard_time_seconds", "gauge", "seconds", "Median over launches of a scenario.");
  for (const auto& one : result.scenarios) {
    const auto scenario = scenario_label(one);
    if (!one.base_us.empty()) {
      text += metric_line("switchyard_time_seconds", scenario + ",side=\"base\"", one.base_median_us * seconds_per_us);
    }
    if (!one.current_us.empty()) {
      text += metric_line("switchyard_time_seconds", scenario + ",side=\"current\"",
                          one.current_median_us * seconds_per_us);
    }
  }
  text += metadata("switchyard_shift_ratio", "gauge", "ratio", "Hodges-Lehmann shift over the median of the base.");
  for (const auto& one : result.scenarios) {
    if (one.judged > 0) {
      text += metric_line("switchyard_shift_ratio", scenario_label(one), one.shift_us.shift / one.base_median_us);
    }
  }
  text += metadata("switchyard_verdict", "stateset", "", "What the gate says of a scenario.");
  for (const auto& one : result.scenarios) {
    for (std::size_t i = 0; i < num_gate_verdicts; ++i) {
      const auto state = static_cast<gate_verdict>(i);
      text += metric_line("switchyard_verdict",
                          scenario_label(one) + ",switchyard_verdict=\"" + std::string(to_string(state)) + '"',
                          state == one.verdict ? 1 : 0);
    }
  }
  return text + "# EOF\n";
}

std::string csv_of(const sample_set& samples) {
  auto text = csv_line({"scenario", "launch", "time_us"});
  for (const auto& series : samples.series) {
    for (std::size_t i = 0; i < series.time_us.size(); ++i) {
      text += csv_line({series.id, std::to_string(series.launches[i]), number_text(series.time_us[i])});
    }
  }
  return text;
}

}  // namespace switchyard::harness::gate
