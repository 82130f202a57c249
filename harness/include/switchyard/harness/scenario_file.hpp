// SPDX-License-Identifier: Apache-2.0
// Reads scenario files. The reader is strict: what it does not know or cannot hold exactly it refuses, with one line
// that names file, JSON pointer, value and rule.
//
//   file      = {"suite": word, "description": text, "include": [word, ...], "scenarios": [scenario, ...]}
//   scenario  = {"name": word, "sentence": text, "tags": [word, ...], field: value, ..., "sweep": group | [group, ...]}
//   group     = {"kind": "product" | "zip" | "pairwise", "axes": {field: [value, ...], ...}, "exclude": [pattern, ...]}
//   pattern   = {field: [value, ...], ...}               (of axes of the group; not in a zip)
//   value     = true | false | integer | text           (which one, field_rules() says)
//   word      = one or more of a-z 0-9 _                 (words are parts of case ids)
//
// A file has scenarios, or includes other suites of its folder, or both. A combination in which every member of one
// pattern has one of the values given there is not made. Fields with a dot in their names are written as an object,
// {"inject": {"rank": 1}}, and swept as inject.rank. A suite's name is its file's name without .json.
// Texts are words, or counts by step and rank (step_counts.hpp). A trace is the name of a file in the folder traces
// beside the scenario file (routing_trace.hpp).
//
// The grammar is also scenarios/schema/scenario.schema.json, for editors; what it cannot say is refused here alone.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// Throws input_error when the file cannot be read or breaks a rule.
suite read_suite_file(const std::filesystem::path& path);

/// The same for text already read; `file` stands in messages.
suite parse_suite(std::string_view text, const std::string& file);

}  // namespace switchyard::harness
