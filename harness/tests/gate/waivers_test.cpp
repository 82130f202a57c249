// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/waivers.hpp"

#include "sample_files.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

constexpr auto today = "2026-11-30";

std::string entry(const std::string& scenario, const std::string& verdict, const std::string& expires = "2026-12-31",
                  const std::string& more = "") {
  return R"({"scenario":")" + scenario + R"(","verdict":")" + verdict +
         R"(","owner":"somebody","reason":"being mended","link":"#12","expires":")" + expires + '"' + more + '}';
}

std::vector<waiver> list_of(const std::string& entries, waiver_list kind = waiver_list::waivers) {
  return read_waivers(write_lines(own_folder() / "w.json", {R"({"schema":1,"entries":[)" + entries + "]}"}), kind);
}

std::string refusal_of(const std::string& entries, waiver_list kind = waiver_list::waivers) {
  try {
    (void)list_of(entries, kind);
  } catch (const input_error& error) {
    return error.what();
  }
  return "not refused";
}

gate_result result_of(const std::vector<std::pair<std::string, gate_verdict>>& verdicts) {
  gate_result result;
  for (const auto& [id, verdict] : verdicts) {
    result.scenarios.emplace_back();
    result.scenarios.back().id = id;
    result.scenarios.back().verdict = verdict;
  }
  return result;
}

const testbed bed{"H200", 2, "", "580", "13.0", "x86_64"};
using enum gate_verdict;

TEST(waivers, cover_the_verdict_they_name_where_the_pattern_matches) {
  auto result = result_of({{"bench/a@tokens=1", regressed},
                           {"bench/b@tokens=1", regressed},
                           {"bench/a@tokens=4", missing},
                           {"bench/c", pass}});
  const auto told = apply_waivers(result, list_of(entry("bench/a@*", "regressed")), bed, today);
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(result.scenarios[0].waived_by, "somebody, until 2026-12-31: being mended (#12)");
  EXPECT_TRUE(result.scenarios[1].waived_by.empty());
  EXPECT_TRUE(result.scenarios[2].waived_by.empty());
  EXPECT_EQ(exit_code_of(result), exit_code::failed);
  (void)apply_waivers(result, list_of(entry("bench/b@*", "regressed") + ',' + entry("*", "missing")), bed, today);
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
}

TEST(waivers, that_have_expired_fail_and_cover_nothing) {
  for (const bool needed : {true, false}) {
    auto result = result_of({{"a", needed ? regressed : pass}});
    (void)apply_waivers(result, list_of(entry("a", "regressed", "2026-11-29")), bed, today);
    EXPECT_TRUE(result.scenarios[0].waived_by.empty());
    ASSERT_EQ(result.failures.size(), 1U);
    EXPECT_NE(result.failures[0].find("expired on 2026-11-29"), std::string::npos);
    EXPECT_EQ(exit_code_of(result), exit_code::failed);
  }
  auto result = result_of({{"a", regressed}, {"b", pass}});
  (void)apply_waivers(result, list_of(entry("a", "regressed", today)), bed, today);  // its last day
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
}

TEST(waivers, that_are_not_needed_are_told_and_change_nothing) {
  auto result = result_of({{"a", pass}, {"b", improved}});
  const auto told = apply_waivers(result, list_of(entry("*", "regressed")), bed, today);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_NE(told[0].find("the entry of somebody for * (regressed, #12) is not needed here"), std::string::npos);
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
}

TEST(waivers, hold_on_their_testbed_only) {
  auto result = result_of({{"a", regressed}, {"b", pass}});
  const auto elsewhere = list_of(entry("a", "regressed", "2026-12-31", R"(,"testbed":"* GB200*")"));
  EXPECT_TRUE(apply_waivers(result, elsewhere, bed, today).empty());  // nor is it unneeded: it was not asked
  EXPECT_EQ(exit_code_of(result), exit_code::regressed);
  (void)apply_waivers(result, list_of(entry("a", "regressed", "2026-12-31", R"(,"testbed":"2 x H200*")")), bed, today);
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
}

TEST(waivers, correctness_takes_a_list_of_known_issues) {
  EXPECT_NE(refusal_of(entry("a", "failed")).find("a wrong result is no matter of waiving"), std::string::npos);
  EXPECT_NE(refusal_of(entry("a", "regressed"), waiver_list::known_issues).find("must be failed"), std::string::npos);
  auto result = result_of({{"a", failed}, {"b", pass}});
  (void)apply_waivers(result, list_of(entry("a", "failed"), waiver_list::known_issues), bed, today);
  EXPECT_EQ(exit_code_of(result), exit_code::all_passed);
}

TEST(waivers, that_leave_something_out_are_refused) {
  for (const auto* key : {"scenario", "verdict", "owner", "reason", "link", "expires"}) {
    auto text = entry("a", "regressed");
    const auto at = text.find('"' + std::string(key) + '"');
    text.replace(at + 1, 1, "x");
    EXPECT_NE(refusal_of(text), "not refused") << key;
  }
  for (const auto* date : {"2026-13-01", "2026-02-30", "tomorrow", "2026-1-1", "2026-01-01x"}) {
    EXPECT_NE(refusal_of(entry("a", "regressed", date)).find("must be a date"), std::string::npos) << date;
  }
  EXPECT_NE(refusal_of(entry("a", "pass")), "not refused");
  EXPECT_NE(refusal_of("1"), "not refused");
  EXPECT_TRUE(list_of("").empty());
}

}  // namespace
}  // namespace switchyard::harness::gate
