// SPDX-License-Identifier: Apache-2.0
// From JSON to scenarios.
#include "switchyard/harness/scenario_file.hpp"

#include <algorithm>
#include <set>

#include "json_members.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

constexpr std::string_view absent_prefix = "absent.";

field_setting read_value(const field_rule& rule, const json_at& at) {
  field_value value;
  bool exact = true;
  if (at.value.is_boolean()) {
    value = at.value.get<bool>();
  } else if (at.value.is_number_unsigned()) {
    const auto number = at.value.get<std::uint64_t>();
    exact = number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    value = exact ? static_cast<std::int64_t>(number) : 0;
  } else if (at.value.is_number_integer()) {
    value = at.value.get<std::int64_t>();
  } else if (at.value.is_string()) {
    value = at.value.get<std::string>();
  } else {
    exact = false;  // null, an array, an object, or a number that is not written as an integer
  }
  if (!exact || !obeys(rule, value)) refuse(at, describe(rule));
  return {std::move(value), at.place};
}

const field_rule& known_field(const std::string& name, const json_at& at) {
  const auto* rule = find_field(name);
  if (rule == nullptr) refuse(at, "unknown field");
  return *rule;
}

void read_absent(scenario& into, const json_at& at) {
  require_object(at);
  require_known(at, {"rank", "step", "phase"});
  if (at.value.empty()) refuse(at, "must have rank, step or phase");
  for (const auto& [key, value] : at.value.items()) {
    const json_at here{value, at.place.child(key)};
    const auto name = std::string(absent_prefix) + key;
    into.fields.emplace(name, read_value(known_field(name, here), here));
  }
}

sweep_axis read_axis(const std::string& field, const json_at& at) {
  const auto& rule = known_field(field, at);
  require_array(at);
  if (at.value.empty()) refuse(at, "must have at least one value");
  sweep_axis axis{field, {}};
  for (std::size_t i = 0; i < at.value.size(); ++i) axis.values.push_back(read_value(rule, element(at, i)));
  return axis;
}

sweep_group read_group(const json_at& at) {
  require_object(at);
  require_known(at, {"kind", "axes"});
  const auto kind = member(at, "kind");
  sweep_group group;
  if (kind.value == "product") {
    group.kind = sweep_kind::product;
  } else if (kind.value == "zip") {
    group.kind = sweep_kind::zip;
  } else {
    refuse(kind, "must be one of product, zip");
  }
  const auto axes = member(at, "axes");
  require_object(axes);
  if (axes.value.empty()) refuse(axes, "must have at least one axis");
  for (const auto& [field, values] : axes.value.items()) {
    group.axes.push_back(read_axis(field, {values, axes.place.child(field)}));
    const auto due = group.axes.front().values.size();
    if (group.kind == sweep_kind::zip && group.axes.back().values.size() != due) {
      refuse(json_at{values, axes.place.child(field)},
             "must have " + std::to_string(due) + " values, as axis " + group.axes.front().field + " of the same zip");
    }
  }
  return group;
}

/// In a zip a value may come back in another combination; a product with equal values would make equal ids.
void require_distinct_values(const sweep_group& group) {
  if (group.kind == sweep_kind::zip) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < group.axes.front().values.size(); ++i) {
      std::string combination;
      for (const auto& axis : group.axes) combination += to_text(axis.values[i].value) + ',';
      const auto& place = group.axes.front().values[i].place;
      if (!seen.insert(combination).second) refuse(place, combination, "this combination is in the zip twice");
    }
    return;
  }
  for (const auto& axis : group.axes) {
    std::set<std::string> seen;
    for (const auto& setting : axis.values) {
      const auto text = to_text(setting.value);
      if (!seen.insert(text).second) refuse(setting.place, text, "this value is in the axis twice");
    }
  }
}

void read_sweep(scenario& into, const json_at& at) {
  if (at.value.is_array()) {
    if (at.value.empty()) refuse(at, "must have at least one group");
    for (std::size_t i = 0; i < at.value.size(); ++i) into.sweep.push_back(read_group(element(at, i)));
  } else {
    into.sweep.push_back(read_group(at));
  }
  std::set<std::string> swept;
  for (const auto& group : into.sweep) {
    require_distinct_values(group);
    for (const auto& axis : group.axes) {
      const auto& place = axis.values.front().place;
      if (!swept.insert(axis.field).second) refuse(place, axis.field, "is swept twice");
      const auto fixed = into.fields.find(axis.field);
      if (fixed != into.fields.end()) {
        refuse(fixed->second.place, to_text(fixed->second.value), "is both set and swept");
      }
    }
  }
}

std::vector<std::string> read_tags(const json_at& at) {
  require_array(at);
  std::vector<std::string> tags;
  for (std::size_t i = 0; i < at.value.size(); ++i) {
    auto tag = read_word(element(at, i));
    if (std::find(tags.begin(), tags.end(), tag) != tags.end()) refuse(element(at, i), "is there twice");
    tags.push_back(std::move(tag));
  }
  return tags;
}

scenario read_scenario(const json_at& at) {
  require_object(at);
  scenario result;
  result.place = at.place;
  result.name = read_word(member(at, "name"));
  result.sentence = read_sentence(member(at, "sentence"));
  for (const auto& [key, value] : at.value.items()) {
    const json_at here{value, at.place.child(key)};
    if (key == "name" || key == "sentence" || key == "sweep") continue;
    if (key == "tags") {
      result.tags = read_tags(here);
    } else if (key == "absent") {
      read_absent(result, here);
    } else if (key.starts_with(absent_prefix)) {
      refuse(here, "unknown field; write the object absent, or sweep this field");
    } else {
      result.fields.emplace(key, read_value(known_field(key, here), here));
    }
  }
  if (at.value.contains("sweep")) read_sweep(result, member(at, "sweep"));
  return result;
}

}  // namespace

suite parse_suite(std::string_view text, const std::string& file) {
  const auto document = parse_json_text(text, file);
  const json_at root{document, {file, ""}};
  require_object(root);
  require_known(root, {"suite", "description", "scenarios"});
  suite result;
  result.file = file;
  result.traces = std::make_shared<trace_folder>(std::filesystem::path(file).parent_path() / "traces");
  result.name = read_word(member(root, "suite"));
  const auto stem = std::filesystem::path(file).stem().string();
  if (result.name != stem) refuse(member(root, "suite"), "must be the file's name without .json: " + stem);
  result.description = read_sentence(member(root, "description"));
  const auto scenarios = member(root, "scenarios");
  require_array(scenarios);
  if (scenarios.value.empty()) refuse(scenarios, "must have at least one scenario");
  std::set<std::string> names;
  for (std::size_t i = 0; i < scenarios.value.size(); ++i) {
    result.scenarios.push_back(read_scenario(element(scenarios, i)));
    const auto& name = result.scenarios.back().name;
    if (!names.insert(name).second)
      refuse(scenarios.place.child(i).child("name"), name, "is the name of two scenarios");
  }
  return result;
}

suite read_suite_file(const std::filesystem::path& path) { return parse_suite(read_text_file(path), path.string()); }

}  // namespace switchyard::harness
