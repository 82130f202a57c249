// SPDX-License-Identifier: Apache-2.0
// Names, zips, values that are there twice, and what exclusions leave.
#include "scenario_relations.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sweep_points.hpp"
#include "switchyard/harness/random_cases.hpp"

namespace switchyard::harness {
namespace {

[[noreturn]] void reject(const input_place& place, std::string_view value, std::string_view rule) {
  refuse(place, value, rule, rule_kind::relation);
}

void check_zip(const sweep_group& group) {
  const auto& first = group.axes.front();
  for (const auto& axis : group.axes) {
    if (axis.values.size() != first.values.size()) {
      reject(axis.place, "",
             "has " + std::to_string(axis.values.size()) + " values and must have " +
                 std::to_string(first.values.size()) + ", as axis " + first.field + " of the same zip");
    }
  }
  // A value may come back in another combination.
  std::set<std::string> seen;
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    std::string combination;
    for (const auto& axis : group.axes) combination += to_text(axis.values[i].value) + ',';
    if (!seen.insert(combination).second) {
      reject(first.values[i].place, combination, "this combination is in the zip twice");
    }
  }
}

void require_distinct_values(const sweep_axis& axis, std::string_view rule) {
  std::set<std::string> seen;
  for (const auto& setting : axis.values) {
    const auto text = to_text(setting.value);
    if (!seen.insert(text).second) reject(setting.place, text, rule);
  }
}

/// An exclusion of what is not there is a slip of the pen.
void check_exclusion(const sweep_exclusion& exclusion, const sweep_group& group) {
  for (const auto& member : exclusion.members) {
    require_distinct_values(member, "this value is there twice");
    const auto axis = std::find_if(group.axes.begin(), group.axes.end(),
                                   [&](const sweep_axis& one) { return one.field == member.field; });
    if (axis == group.axes.end()) reject(member.place, "", "is no axis of this group");
    for (const auto& setting : member.values) {
      const bool known = std::any_of(axis->values.begin(), axis->values.end(),
                                     [&](const field_setting& one) { return one.value == setting.value; });
      if (!known) reject(setting.place, to_text(setting.value), "is no value of the axis " + axis->field);
    }
  }
}

void check_combinations(const sweep_group& group) {
  for (const auto& axis : group.axes) require_distinct_values(axis, "this value is in the axis twice");
  for (const auto& exclusion : group.exclude) check_exclusion(exclusion, group);
  if (group.exclude.empty()) return;
  const auto possible = space_of(group).possible_values();
  bool any = false;
  for (const auto& of_axis : possible) any = any || std::find(of_axis.begin(), of_axis.end(), true) != of_axis.end();
  if (!any) reject(group.place.child("exclude"), "", "leaves no combination of the axes");
  for (std::size_t axis = 0; axis < possible.size(); ++axis) {
    for (std::size_t i = 0; i < possible[axis].size(); ++i) {
      const auto& setting = group.axes[axis].values[i];
      if (!possible[axis][i]) {
        reject(setting.place, to_text(setting.value), "is in no combination that exclude leaves: take it out");
      }
    }
  }
}

void check_sweep(const scenario& which) {
  std::set<std::string> swept;
  for (const auto& group : which.sweep) {
    if (group.kind == sweep_kind::zip) {
      check_zip(group);
    } else {
      check_combinations(group);
    }
    for (const auto& axis : group.axes) {
      if (!swept.insert(axis.field).second) reject(axis.place, "", "is swept twice");
      const auto fixed = which.fields.find(axis.field);
      if (fixed != which.fields.end()) {
        reject(fixed->second.place, to_text(fixed->second.value), "is both set and swept");
      }
    }
  }
}

}  // namespace

void check_relations(const suite& which) {
  const input_place root{which.file, ""};
  const auto stem = std::filesystem::path(which.file).stem().string();
  if (which.name != stem) reject(root.child("suite"), which.name, "must be the file's name without .json: " + stem);
  if (which.name == random_suite_name) reject(root.child("suite"), which.name, "is the name of drawn cases");
  std::set<std::string> names;
  for (const auto& one : which.scenarios) {
    if (!names.insert(one.name).second) reject(one.place.child("name"), one.name, "is the name of two scenarios");
    check_sweep(one);
  }
}

}  // namespace switchyard::harness
