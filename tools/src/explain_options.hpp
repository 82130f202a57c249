// SPDX-License-Identifier: Apache-2.0
// What `switchyard explain` was asked, and its kinds of answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "common_options.hpp"

namespace switchyard::tools {

struct explain_options {
  std::string what;       ///< empty: everything that can be explained
  common_options common;  ///< suites and folder, to find a case
  std::uint64_t seed = 1;
  invocation call;
};

/// Prints what a case is: every field with its value and where that comes from, what it moves and needs, and the
/// command that runs it. Throws input_error for an id that names no case.
void explain_case(const explain_options& options);

/// Prints the record with this number or id out of RECORDS.jsonl:WHICH, with what its words mean. Throws input_error.
void explain_record(std::string_view file, std::string_view which);

/// Whether this is a file of verdicts of the gate, rather than of records of a run.
bool holds_verdicts(const std::string& file);
/// Prints how the verdict of this line or scenario came about. Throws input_error.
void explain_verdict(const std::string& file, std::string_view which);

/// Prints what a word means. Throws input_error for an unknown one.
void explain_word(std::string_view word);

/// `text` broken between words into lines of at most 100 letters, all but the first indented.
std::string wrapped(std::string_view text, std::size_t indent);

}  // namespace switchyard::tools
