// SPDX-License-Identifier: Apache-2.0
// Must-pass lists: what they refuse, and what a run owes them.
#include "switchyard/harness/must_pass.hpp"

#include <fstream>

#include "scenario_text.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::harness {
namespace {

must_pass_list list_of(const std::string& cases) {
  return parse_must_pass(R"({"must_pass": "gate", "description": "d", "cases": )" + cases + "}", "gate.json");
}

std::vector<std::string> judged(const std::string& cases, const must_pass_evidence& evidence) {
  const auto list = list_of(cases);
  std::vector<std::string> lines;
  for (const auto& shortfall : judge_must_pass(list, evidence)) lines.push_back(describe(list, shortfall));
  return lines;
}

using lines = std::vector<std::string>;

TEST(must_pass, matched_cases_must_have_passed) {
  must_pass_evidence run;
  run.selected = run.due = {"a/x@ranks=2", "a/x@ranks=3", "a/y", "b/z", "b/w"};
  run.statuses = {{"a/x@ranks=2", case_status::pass},
                  {"a/x@ranks=3", case_status::fail},
                  {"a/y", case_status::skipped},
                  {"b/z", case_status::waived}};
  EXPECT_EQ(judged(R"(["a/x@ranks=2"])", run), lines{});
  EXPECT_EQ(judged(R"(["a/*"])", run),
            (lines{"must pass (gate): a/x@ranks=3: fail", "must pass (gate): a/y: skipped"}));
  EXPECT_EQ(judged(R"(["b/z"])", run), lines{"must pass (gate): b/z: waived"});
  EXPECT_EQ(judged(R"(["b/w"])", run), lines{"must pass (gate): b/w: missing"});
}

TEST(must_pass, an_entry_that_matches_nothing_is_a_missing_case) {
  must_pass_evidence run;
  run.selected = run.due = {"a/x@ranks=2"};
  run.statuses = {{"a/x@ranks=2", case_status::pass}};
  EXPECT_EQ(judged(R"(["a/*", "a/x", "c/*"])", run), (lines{"must pass (gate): a/x: matches no case of this run",
                                                            "must pass (gate): c/*: matches no case of this run"}));
  EXPECT_EQ(judge_must_pass(list_of(R"(["c/*"])"), run).front().status, case_status::missing);
}

TEST(must_pass, cases_that_another_run_has_to_run_are_not_missing_here) {
  must_pass_evidence run;
  run.selected = {"a/x", "a/y"};
  run.due = {"a/y"};
  run.statuses = {{"a/y", case_status::pass}};
  EXPECT_EQ(judged(R"(["a/x", "a/*"])", run), lines{});
  run.statuses.clear();
  EXPECT_EQ(judged(R"(["a/x", "a/*"])", run), lines{"must pass (gate): a/y: missing"});
}

TEST(must_pass, bad_lists) {
  const auto refused = [](const std::string& text) { return refusal([&] { parse_must_pass(text, "gate.json"); }); };
  EXPECT_EQ(refused("[]"), "gate.json: []: must be an object");
  EXPECT_EQ(refused(R"({"must_pass": "gate", "description": "d"})"), "gate.json: /cases: missing");
  EXPECT_EQ(refused(R"({"must_pass": "gate", "description": "d", "cases": [], "x": 1})"),
            "gate.json: /x: 1: unknown field");
  EXPECT_EQ(refused(R"({"must_pass": "gate", "description": "d", "cases": []})"),
            "gate.json: /cases: []: must have at least one case");
  EXPECT_EQ(refused(R"({"must_pass": "gate", "description": "d", "cases": [3]})"),
            "gate.json: /cases/0: 3: must be a text that is not empty, on one line");
  EXPECT_EQ(refused(R"({"must_pass": "gate", "description": "d", "cases": ["a", "a"]})"),
            R"(gate.json: /cases/1: "a": is there twice)");
  EXPECT_EQ(refused(R"({"must_pass": "other", "description": "d", "cases": ["a"]})"),
            R"(gate.json: /must_pass: "other": must be the file's name without .json: gate)");
}

TEST(must_pass, lists_are_found_by_name_and_by_path) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "must_pass_lists";
  std::filesystem::create_directories(folder / "must_pass");
  std::ofstream(folder / "must_pass" / "gate.json") << R"({"must_pass": "gate", "description": "d", "cases": ["a/b"]})";
  EXPECT_EQ(load_must_pass(folder, "gate").entries.front().pattern, "a/b");
  EXPECT_EQ(load_must_pass("nowhere", (folder / "must_pass" / "gate.json").string()).name, "gate");
  EXPECT_EQ(refusal([&] { load_must_pass(folder, "other"); }),
            (folder / "must_pass" / "other.json").string() + ": no such file");
}

}  // namespace
}  // namespace switchyard::harness
