// SPDX-License-Identifier: Apache-2.0
// Reads scenario files. The reader is strict: what it does not know or cannot hold exactly it refuses, with one line
// that names file, JSON pointer, value and rule.
//
//   file      = {"suite": word, "description": text, "scenarios": [scenario, ...]}
//   scenario  = {"name": word, "sentence": text, "tags": [word, ...], field: value, ..., "sweep": group | [group, ...]}
//   group     = {"kind": "product" | "zip", "axes": {field: [value, ...], ...}}
//   value     = true | false | integer | text           (which one, field_rules() says)
//   word      = one or more of a-z 0-9 _                 (words are parts of case ids)
//
// A trace is the name of a file in the folder traces beside the scenario file (routing_trace.hpp).
// Texts are words, or counts by step and rank (step_counts.hpp). The fields of an absent rank are written as the object
// {"absent": {"rank", "step", "phase"}} and swept as absent.rank, absent.step, absent.phase. A suite's name is its
// file's name without .json.
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
