// SPDX-License-Identifier: Apache-2.0
// Reads records back; a run that was cut short is still readable up to its last whole line.
#include "switchyard/harness/record_reader.hpp"

#include <algorithm>

#include "../scenario/json_members.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {
namespace {

void require_header(const json_at& at) {
  require_object(at);
  if (member(at, "record").value != "header") refuse(member(at, "record"), "must be header on the first line");
  const auto schema = member(at, "schema");
  if (schema.value != record_schema) refuse(schema, "must be " + std::to_string(record_schema));
  require_object(member(at, "env"));
  const auto run = member(at, "run");
  require_object(run);
  if (!member(run, "cases").value.is_number_unsigned()) refuse(member(run, "cases"), "must be an integer from 0");
}

void require_case(const json_at& at) {
  require_object(at);
  if (member(at, "record").value != "case") refuse(member(at, "record"), "must be case after the first line");
  for (const auto* text : {"id", "status"}) {
    if (!member(at, text).value.is_string()) refuse(member(at, text), "must be a text");
  }
}

}  // namespace

run_records parse_records(std::string_view text, const std::string& file) {
  run_records result;
  std::size_t line_number = 0;
  const auto all_bytes = text.size();
  while (!text.empty()) {
    const auto newline = text.find('\n');
    if (newline == std::string_view::npos) {
      // The newline is the last byte of a line's one write: without it the line may be torn, even if it parses.
      result.torn_lines = 1;
      break;
    }
    ++line_number;
    const auto name = file + ": record " + std::to_string(line_number);
    auto record = parse_json_text(text.substr(0, newline), name);
    result.lines.emplace_back(text.substr(0, newline));
    const json_at at{record, {name, ""}};
    if (line_number == 1) {
      require_header(at);
      result.header = std::move(record);
    } else {
      require_case(at);
      result.cases.push_back(std::move(record));
    }
    text.remove_prefix(newline + 1);
    result.whole_bytes = all_bytes - text.size();
  }
  if (line_number == 0) refuse({file, ""}, "", "no records: not one whole line");
  const auto due = result.header["run"]["cases"].get<std::size_t>();
  result.missing_cases = due - std::min(due, result.cases.size());
  return result;
}

run_records read_records_file(const std::filesystem::path& path) {
  return parse_records(read_text_file(path, max_records_bytes), path.string());
}

}  // namespace switchyard::harness
