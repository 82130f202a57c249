// SPDX-License-Identifier: Apache-2.0
// JSON Schemas out of the table of fields.
#include "switchyard/harness/json_schema.hpp"

#include <nlohmann/json.hpp>

#include "switchyard/harness/field_meanings.hpp"
#include "switchyard/harness/scenario_fields.hpp"
#include "switchyard/harness/step_counts.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

// Some engines let $ before a last newline pass; the look-ahead makes them as strict as the standard's dialect.
constexpr std::string_view word_pattern = "^[a-z0-9_]+$(?!\n)";
constexpr std::string_view sentence_pattern = "^[^\\u0000-\\u001f\\u007f]+$(?!\n)";

json text_of(std::string_view pattern, std::string_view what) {
  return {{"type", "string"}, {"pattern", pattern}, {"description", what}};
}

json word() { return text_of(word_pattern, "a word: one or more of a-z, 0-9 and _"); }
json sentence() { return text_of(sentence_pattern, "a text that is not empty, on one line"); }

json object_of(json properties, const std::vector<std::string>& required) {
  json object{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) object["required"] = required;
  object["additionalProperties"] = false;
  return object;
}

/// An array with at least one element.
json array_of(json items) { return {{"type", "array"}, {"minItems", 1}, {"items", std::move(items)}}; }

json set_of(json items) {
  auto array = array_of(std::move(items));
  array["uniqueItems"] = true;
  return array;
}

json reference(const std::string& definition) { return {{"$ref", "#/$defs/" + definition}}; }

/// The integers from 0 to `most`, without leading zeros, as a regular expression.
std::string count_pattern(std::int64_t most) {
  const auto digits = std::to_string(most);
  const auto any = [](std::size_t count) { return count == 0 ? "" : "[0-9]{" + std::to_string(count) + '}'; };
  std::string choices = "0";
  if (digits.size() > 1) choices += "|[1-9][0-9]{0," + std::to_string(digits.size() - 2) + '}';
  for (std::size_t place = 0; place < digits.size(); ++place) {  // as long as `most`, equal up to here, then smaller
    const char least = place == 0 ? '1' : '0';
    if (digits[place] == least) continue;
    choices += '|' + digits.substr(0, place) + '[' + least + '-' + static_cast<char>(digits[place] - 1) + ']' +
               any(digits.size() - place - 1);
  }
  return "(" + choices + '|' + digits + ')';
}

/// As step_counts::parse() reads them.
std::string counts_pattern() {
  const auto count = count_pattern(step_counts::most_count);
  return '^' + count + "([:/]" + count + "){0," + std::to_string(step_counts::most_counts - 1) + "}$(?!\n)";
}

json value_of(const field_rule& rule) {
  switch (rule.kind) {
    case field_kind::boolean: return {{"type", "boolean"}};
    case field_kind::integer: return {{"type", "integer"}, {"minimum", rule.min}, {"maximum", rule.max}};
    case field_kind::counts: return {{"type", "string"}, {"pattern", counts_pattern()}};
    case field_kind::word: break;
  }
  if (rule.words.empty()) return {{"type", "string"}};
  return {{"enum", rule.words}};
}

std::string definition_of(std::string_view field) { return "field." + std::string(field); }

/// Members of a scenario that set fields: x.y is the member y of the object x.
void add_field_members(json& properties) {
  for (const auto& rule : field_rules()) {
    const std::string name(rule.name);
    const auto dot = name.find('.');
    if (dot == std::string::npos) {
      properties[name] = reference(definition_of(name));
      continue;
    }
    auto& object = properties[name.substr(0, dot)];
    if (object.is_null()) {
      object = object_of(json::object(), {});
      object["minProperties"] = 1;
    }
    object["properties"][name.substr(dot + 1)] = reference(definition_of(name));
  }
}

json axes() {
  auto properties = json::object();
  for (const auto& rule : field_rules()) {
    properties[std::string(rule.name)] = array_of(reference(definition_of(rule.name)));
  }
  auto object = object_of(std::move(properties), {});
  object["minProperties"] = 1;
  return object;
}

json group() {
  auto object = object_of({{"kind", {{"enum", {"product", "zip", "pairwise"}}}},
                           {"axes", reference("axes")},
                           {"exclude", array_of(reference("axes"))}},
                          {"kind", "axes"});
  object["if"] = {{"properties", {{"kind", {{"const", "zip"}}}}}};
  object["then"] = {{"properties", {{"exclude", false}}}};
  return object;
}

json scenario_object() {
  json properties{{"name", reference("word")},
                  {"sentence", reference("sentence")},
                  {"tags", {{"type", "array"}, {"items", reference("word")}, {"uniqueItems", true}}},
                  {"sweep", {{"anyOf", {reference("group"), array_of(reference("group"))}}}}};
  add_field_members(properties);
  return object_of(std::move(properties), {"name", "sentence"});
}

json document(std::string_view title, std::string_view what, const json& body) {
  json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}, {"description", what}};
  schema.update(body);
  return schema;
}

json scenario_schema() {
  auto root = object_of({{"suite", reference("word")},
                         {"description", reference("sentence")},
                         {"include", set_of(reference("word"))},
                         {"scenarios", array_of(reference("scenario"))}},
                        {"suite", "description"});
  root["anyOf"] = {{{"required", {"scenarios"}}}, {{"required", {"include"}}}};
  auto& definitions = root["$defs"];
  definitions = {{"word", word()},
                 {"sentence", sentence()},
                 {"scenario", scenario_object()},
                 {"group", group()},
                 {"axes", axes()}};
  for (const auto& rule : field_rules()) {
    auto& definition = definitions[definition_of(rule.name)] = value_of(rule);
    if (const auto* meaning = find_meaning(rule.name)) definition["description"] = meaning->meaning;
  }
  return document("Switchyard suite", "Scenarios and the suites that a suite includes. Generated; do not edit.", root);
}

json profiles_schema() {
  auto properties = json::object();
  std::vector<std::string> names;
  for (const std::string name : {"hidden_size", "top_k", "num_experts", "dtype", "dispatch_format"}) {
    properties[name] = value_of(*find_field(name));
    names.push_back(name);
  }
  const json profiles{
      {"type", "object"}, {"propertyNames", word()}, {"additionalProperties", object_of(std::move(properties), names)}};
  return document("Switchyard model profiles", "Shapes of models, by name. Generated; do not edit.",
                  object_of({{"description", sentence()}, {"profiles", profiles}}, {"description", "profiles"}));
}

json must_pass_schema() {
  return document("Switchyard must-pass list", "Case ids, or shell patterns over them. Generated; do not edit.",
                  object_of({{"must_pass", word()}, {"description", sentence()}, {"cases", set_of(sentence())}},
                            {"must_pass", "description", "cases"}));
}

}  // namespace

std::map<std::string, std::string> json_schemas() {
  const auto text = [](const json& schema) { return schema.dump(2) + '\n'; };
  return {{"scenario.schema.json", text(scenario_schema())},
          {"profiles.schema.json", text(profiles_schema())},
          {"must_pass.schema.json", text(must_pass_schema())}};
}

}  // namespace switchyard::harness
