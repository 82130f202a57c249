// SPDX-License-Identifier: Apache-2.0
// From JSON to scenarios.
#include "switchyard/harness/scenario_file.hpp"

#include <algorithm>

#include "field_reading.hpp"
#include "scenario_relations.hpp"

namespace switchyard::harness {
namespace {

const field_rule& known_field(const std::string& name, const json_at& at) {
  const auto* rule = find_field(name);
  if (rule == nullptr) refuse(at, "unknown field");
  return *rule;
}

/// Whether some field is called prefix.something: such fields are written as members of an object.
bool has_members(const std::string& prefix) {
  const auto rules = field_rules();
  return std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.name.starts_with(prefix + '.'); });
}

void read_members(scenario& into, const std::string& prefix, const json_at& at) {
  require_object(at);
  if (at.value.empty()) refuse(at, "must have at least one member");
  for (const auto& [key, value] : at.value.items()) {
    const json_at here{value, at.place.child(key)};
    const auto name = prefix + '.' + key;
    into.fields.emplace(name, read_field(known_field(name, here), here));
  }
}

std::vector<sweep_axis> read_axes(const json_at& at, std::string_view what) {
  require_object(at);
  if (at.value.empty()) refuse(at, "must have at least one " + std::string(what));
  std::vector<sweep_axis> axes;
  for (const auto& [field, values] : at.value.items()) {
    const json_at here{values, at.place.child(field)};
    const auto& rule = known_field(field, here);
    auto& axis = axes.emplace_back(sweep_axis{field, {}, here.place});
    for_each_element(here, "value", [&](const json_at& value) { axis.values.push_back(read_field(rule, value)); });
  }
  return axes;
}

sweep_kind read_kind(const json_at& at) {
  if (at.value == "product") return sweep_kind::product;
  if (at.value == "zip") return sweep_kind::zip;
  if (at.value == "pairwise") return sweep_kind::pairwise;
  refuse(at, "must be one of product, zip, pairwise");
}

sweep_group read_group(const json_at& at) {
  require_object(at);
  require_known(at, {"kind", "axes", "exclude"});
  sweep_group group;
  group.place = at.place;
  group.kind = read_kind(member(at, "kind"));
  group.axes = read_axes(member(at, "axes"), "axis");
  if (at.value.contains("exclude")) {
    const auto exclude = member(at, "exclude");
    if (group.kind == sweep_kind::zip) refuse(exclude, "a zip makes only what it says: take the combination out of it");
    for_each_element(exclude, "pattern", [&](const json_at& pattern) {
      group.exclude.push_back({read_axes(pattern, "member"), pattern.place});
    });
  }
  return group;
}

void read_sweep(scenario& into, const json_at& at) {
  if (at.value.is_array()) {
    for_each_element(at, "group", [&](const json_at& group) { into.sweep.push_back(read_group(group)); });
  } else {
    into.sweep.push_back(read_group(at));
  }
}

scenario read_scenario(const json_at& at) {
  require_object(at);
  scenario result;
  result.place = at.place;
  result.name = read_word(member(at, "name"));
  result.sentence = read_sentence(member(at, "sentence"));
  for (const auto& [key, value] : at.value.items()) {
    const json_at here{value, at.place.child(key)};
    if (key == "name" || key == "sentence") continue;
    if (key == "sweep") {
      read_sweep(result, here);
    } else if (key == "tags") {
      result.tags = read_distinct(here, read_word);
    } else if (has_members(key)) {
      read_members(result, key, here);
    } else if (const auto dot = key.find('.'); dot != std::string::npos && has_members(key.substr(0, dot))) {
      refuse(here, "unknown field; write the object " + key.substr(0, dot) + ", or sweep this field");
    } else {
      result.fields.emplace(key, read_field(known_field(key, here), here));
    }
  }
  return result;
}

std::vector<suite_include> read_includes(const json_at& at) {
  require_array(at);
  if (at.value.empty()) refuse(at, "must have at least one suite");
  std::vector<suite_include> includes;
  for (auto& name : read_distinct(at, read_word)) {
    includes.push_back({std::move(name), at.place.child(includes.size())});
  }
  return includes;
}

}  // namespace

suite parse_suite(std::string_view text, const std::string& file) {
  const auto document = parse_json_text(text, file);
  const json_at root{document, {file, ""}};
  require_object(root);
  require_known(root, {"suite", "description", "include", "scenarios"});
  suite result;
  result.file = file;
  result.traces = std::make_shared<trace_folder>(std::filesystem::path(file).parent_path() / "traces");
  result.name = read_word(member(root, "suite"));
  result.description = read_sentence(member(root, "description"));
  if (document.contains("include")) {
    result.includes = read_includes(member(root, "include"));
  }
  if (document.contains("scenarios") || !document.contains("include")) {
    for_each_element(member(root, "scenarios"), "scenario",
                     [&](const json_at& one) { result.scenarios.push_back(read_scenario(one)); });
  }
  check_relations(result);
  return result;
}

suite read_suite_file(const std::filesystem::path& path) { return parse_suite(read_text_file(path), path.string()); }

}  // namespace switchyard::harness
