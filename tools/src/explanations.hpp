// SPDX-License-Identifier: Apache-2.0
// What the words in the output, in records and in scenarios mean, in prose: faults, verdicts, statuses, exit codes,
// fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard::tools {

struct explanation {
  std::string_view kind;     ///< "fault code", "verdict", ...
  std::string_view word;     ///< as to_string() writes it
  std::string_view meaning;  ///< what has been seen
  std::string_view causes;   ///< what usually lies behind it; empty where nothing is wrong
  std::string_view next;     ///< what to look at
};

/// All of them, by kind. Every enumerator that can be printed has one; a test enumerates them.
const std::vector<explanation>& all_explanations();

/// Those of `word`, which may also be the number of an exit code; a word can have several kinds.
std::vector<explanation> explanations_of(std::string_view word);

/// All words that are explained, those nearest to `word` in letters first, each once.
std::vector<std::string_view> words_by_distance(std::string_view word);

// The parts of all_explanations(), a file each.
std::vector<explanation> fault_explanations();
std::vector<explanation> gate_explanations();
std::vector<explanation> field_explanations();
std::vector<explanation> result_explanations();
std::vector<explanation> scenario_field_explanations();

}  // namespace switchyard::tools
