// SPDX-License-Identifier: Apache-2.0
// Sweeps and case ids.
#include "switchyard/harness/sweep.hpp"

#include <algorithm>
#include <set>

#include "case_from_settings.hpp"
#include "sweep_points.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

/// A group and its points; a scenario's groups are multiplied with one another.
struct expanded_group {
  sweep_group group;
  std::vector<combination> points;
};

/// The part of the sweep that a scenario keeps when some fields are overridden.
std::vector<expanded_group> remaining_groups(const scenario& which, const field_settings& overrides) {
  std::vector<expanded_group> groups;
  for (const auto& group : which.sweep) {
    auto kept = without(group, overrides);
    if (kept.axes.empty()) continue;
    auto points = points_of(kept);
    groups.push_back({std::move(kept), std::move(points)});
  }
  return groups;
}

void apply_point(field_settings& swept, const expanded_group& from, std::size_t number) {
  for (std::size_t axis = 0; axis < from.group.axes.size(); ++axis) {
    const auto& of_axis = from.group.axes[axis];
    swept.insert_or_assign(of_axis.field, of_axis.values[from.points[number][axis]]);
  }
}

std::string case_id(const suite& from, const scenario& which, const field_settings& swept) {
  std::string id = from.name + '/' + which.name;
  char separator = '@';
  for (const auto& [field, setting] : swept) {  // a map: keys ascend
    id += separator + field + '=' + to_text(setting.value);
    separator = ',';
  }
  return id;
}

case_spec make_case(const suite& from, const scenario& which, const field_settings& swept,
                    const model_profiles& profiles) {
  auto settings = which.fields;
  for (const auto& [field, setting] : swept) settings.insert_or_assign(field, setting);
  try {
    return case_from_settings(from, which, case_id(from, which, swept), settings, profiles);
  } catch (const input_error& error) {
    throw input_error(error.what(), rule_kind::relation);  // each value has passed its own rule by now
  }
}

}  // namespace

case_address parse_case_id(std::string_view id) {
  const auto bad = [id](std::string_view why) -> input_error {
    return input_error("case id " + shortened_id(id) + ": must be suite/scenario@key=value,...: " + std::string(why));
  };
  const auto slash = id.find('/');
  if (slash == std::string_view::npos) throw bad("no '/'");
  case_address address;
  address.suite = std::string(id.substr(0, slash));
  auto rest = id.substr(slash + 1);
  const auto at = rest.find('@');
  address.scenario = std::string(rest.substr(0, at));
  if (address.suite.empty() || address.scenario.empty()) throw bad("suite or scenario is empty");
  if (at == std::string_view::npos) return address;
  rest.remove_prefix(at + 1);
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const auto setting = rest.substr(0, comma);
    const auto equals = setting.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == setting.size()) throw bad("not key=value");
    address.settings.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  std::sort(address.settings.begin(), address.settings.end());
  const auto same_key = [](const auto& left, const auto& right) { return left.first == right.first; };
  const auto repeated = std::adjacent_find(address.settings.begin(), address.settings.end(), same_key);
  if (repeated != address.settings.end()) throw bad("key " + shortened_id(repeated->first) + " is there twice");
  return address;
}

std::vector<case_spec> expand(const suite& from, const scenario& which, const model_profiles& profiles,
                              const expand_options& options) {
  const auto groups = remaining_groups(which, options.overrides);
  std::size_t total = 1;
  for (const auto& group : groups) {
    total *= group.points.size();  // a zip is as long as its file at most: no overflow before the check
    if (total > max_cases_per_scenario) {
      refuse(which.place.child("sweep"), "", "makes more than " + std::to_string(max_cases_per_scenario) + " cases",
             rule_kind::relation);
    }
  }
  std::vector<case_spec> cases;
  std::set<std::string> ids;
  for (std::size_t number = 0; number < total; ++number) {
    auto swept = options.overrides;
    auto rest = number;
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      const auto points = group->points.size();
      apply_point(swept, *group, rest % points);
      rest /= points;
    }
    const auto id = case_id(from, which, swept);
    if (options.keep && !options.keep(id)) continue;
    // An override can make points of a group equal; one of them is enough.
    if (ids.insert(id).second) cases.push_back(make_case(from, which, swept, profiles));
  }
  return cases;
}

std::vector<case_spec> expand(const suite& from, const model_profiles& profiles, const expand_options& options) {
  std::vector<case_spec> cases;
  for (const auto& which : from.scenarios) {
    auto more = expand(from, which, profiles, options);
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  return cases;
}

case_spec expand_one(const suite& from, const case_address& address, const model_profiles& profiles) {
  const auto which = std::find_if(from.scenarios.begin(), from.scenarios.end(),
                                  [&](const scenario& one) { return one.name == address.scenario; });
  if (which == from.scenarios.end()) {
    throw input_error("suite " + from.name + " has no scenario " + shortened_id(address.scenario));
  }
  field_settings swept;
  for (const auto& [key, text] : address.settings) {
    const input_place place{"case id", "@" + key};
    const auto* rule = find_field(key);
    if (rule == nullptr) refuse(place, text, "unknown field");
    auto value = field_value_from_text(*rule, text);
    if (!value) refuse(place, text, describe(*rule));
    swept.emplace(key, field_setting{*std::move(value), place});
  }
  for (const auto& group : which->sweep) {
    for (const auto& axis : group.axes) {
      if (swept.find(axis.field) == swept.end()) {
        refuse({"case id", "@" + axis.field}, "", "missing: " + from.name + '/' + which->name + " sweeps it");
      }
    }
  }
  return make_case(from, *which, swept, profiles);
}

}  // namespace switchyard::harness
