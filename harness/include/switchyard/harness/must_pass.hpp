// SPDX-License-Identifier: Apache-2.0
// Lists of cases that must pass: a suite may lose a case, be filtered or skip what a machine cannot do, and still end
// well; a gate may not.
//
//   file   = {"must_pass": word, "description": text, "cases": [entry, ...]}
//   entry  = a case id, or a shell pattern over case ids (* crosses '/')
//
// They lie in the folder must_pass beside the suites; a list's name is its file's name without .json.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

struct must_pass_entry {
  std::string pattern;
  input_place place;
};

struct must_pass_list {
  std::string name;
  std::string description;
  std::string file;
  std::vector<must_pass_entry> entries;
};

/// Throws input_error when the file cannot be read or breaks a rule; `file` stands in messages.
must_pass_list read_must_pass_file(const std::filesystem::path& path);
must_pass_list parse_must_pass(std::string_view text, const std::string& file);

/// A list by its path (it has a '/' or ends in .json) or by its name in `scenarios`/must_pass. Throws input_error.
must_pass_list load_must_pass(const std::filesystem::path& scenarios, const std::string& name_or_path);

/// What a run chose, what it had to run, and how that ended.
struct must_pass_evidence {
  std::vector<std::string> selected;            ///< ids of all chosen cases, before they are shared out to several runs
  std::vector<std::string> due;                 ///< those among them that this run had to run
  std::map<std::string, case_status> statuses;  ///< of the cases that ended; one that is due and not here is missing
};

/// A way in which a run falls short of a list.
struct must_pass_shortfall {
  std::string entry;
  std::string case_id;  ///< empty: the entry matches no chosen case, which counts as a missing case
  case_status status = case_status::missing;
};

/// Every entry must match a chosen case, and every matched case that was due must have passed: waived, skipped and
/// missing are not passed. In the order of the list, then of the chosen cases; empty: nothing is wrong.
std::vector<must_pass_shortfall> judge_must_pass(const must_pass_list& list, const must_pass_evidence& evidence);

/// One line: "must pass (host): smoke/gpt_oss@ranks=2,tokens=1: skipped".
std::string describe(const must_pass_list& list, const must_pass_shortfall& shortfall);

}  // namespace switchyard::harness
