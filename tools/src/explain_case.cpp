// SPDX-License-Identifier: Apache-2.0
// switchyard explain ID: a case with everything resolved.
#include <algorithm>
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>

#include "explain_options.hpp"
#include "run_output.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/harness/scenario_fields.hpp"
#include "switchyard/harness/summary.hpp"
#include "switchyard/harness/sweep.hpp"
#include "switchyard/harness/traffic_forecast.hpp"

namespace switchyard::tools {
namespace {

/// The value that a case has for a field of scenarios, as records write it: "inject.rank" is a member of a member. A
/// field that does not apply to the case, such as that of another routing law, is null there or left out.
std::string value_text(const harness::case_spec& spec, const nlohmann::ordered_json& all, std::string_view field) {
  if (field == "profile") return spec.profile.empty() ? "-" : spec.profile;
  const auto* value = &all;
  while (!field.empty() && value->is_object()) {
    const auto dot = std::min(field.find('.'), field.size());
    const auto found = value->find(std::string(field.substr(0, dot)));
    if (found == value->end()) return "-";
    value = &*found;
    field.remove_prefix(std::min(dot + 1, field.size()));
  }
  if (value->is_null()) return "-";
  return value->is_string() ? value->get<std::string>() : value->dump();
}

/// Where a field's value comes from.
std::string_view origin_of(const harness::scenario& which, const harness::case_spec& spec,
                           const std::vector<std::string>& in_id, std::string_view field) {
  const auto swept = [&](const harness::sweep_group& group) {
    return std::any_of(group.axes.begin(), group.axes.end(), [&](const auto& axis) { return axis.field == field; });
  };
  if (std::any_of(which.sweep.begin(), which.sweep.end(), swept)) return "swept";
  if (std::find(in_id.begin(), in_id.end(), field) != in_id.end()) return "set in the id";
  if (which.fields.find(field) != which.fields.end()) return "set";
  // With a profile the scenario cannot set these itself.
  constexpr std::array<std::string_view, 5> of_profile{"num_experts", "top_k", "hidden_size", "dtype",
                                                       "dispatch_format"};
  const bool profiled = std::find(of_profile.begin(), of_profile.end(), field) != of_profile.end();
  return profiled && !spec.profile.empty() ? "profile" : "default";
}

void print_fields(const harness::scenario& which, const harness::case_spec& spec,
                  const harness::case_address& address) {
  std::vector<std::string> in_id;
  for (const auto& [key, value] : address.settings) in_id.push_back(key);
  const auto all = harness::spec_json(spec);
  constexpr std::size_t name_width = 21;
  constexpr std::size_t value_width = 14;
  for (const auto& rule : harness::field_rules()) {
    std::string line(rule.name);
    line.resize(std::max(name_width, line.size() + 1), ' ');
    line += value_text(spec, all, rule.name);
    line.resize(std::max(name_width + value_width, line.size() + 1), ' ');
    std::cout << "  " << line << origin_of(which, spec, in_id, rule.name) << '\n';
  }
}

void print_need(const harness::case_spec& spec, std::uint64_t seed) {
  const auto traffic = harness::forecast_traffic(spec, seed);
  std::cout << "  moves " << (traffic.exact ? "" : "about ") << harness::bytes_text(traffic.remote_bytes)
            << " of payload rows to other ranks with seed " << seed << ", and "
            << harness::bytes_text(traffic.returned_bytes) << " of outputs back, if every step ends; needs "
            << harness::bytes_text(harness::required_bytes(spec)) << " of arena\n";
}

}  // namespace

void explain_case(const explain_options& options) {
  const auto catalog = open_catalog(options.common);
  auto selection = options.common.selection;
  selection.case_id = options.what;
  const auto spec = harness::select_cases(catalog, selection).front();  // refuses what is no case
  if (selection.suites.empty()) selection.suites.push_back(spec.suite);
  for (const auto& from : harness::load_suites(catalog, selection)) {
    if (from.name != spec.suite) continue;
    for (const auto& which : from.scenarios) {
      if (which.name != spec.name) continue;
      std::cout << spec.id << '\n' << "  " << wrapped(which.sentence, 2) << '\n';
      std::cout << "  scenario " << from.name << '/' << which.name << " in " << from.file;
      for (const auto& tag : which.tags) std::cout << " [" << tag << ']';
      std::cout << '\n';
      print_fields(which, spec, harness::parse_case_id(options.what));
    }
  }
  print_need(spec, options.seed);
  run_command_options run;
  run.common = options.common;
  run.call = options.call;
  std::cout << "  run it: " << repeat_command(run) << " --case " << spec.id << " --seed " << options.seed << '\n';
}

}  // namespace switchyard::tools
