// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/waivers.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "../scenario/json_members.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness::gate {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::string read_date(const json_at& at) {
  auto text = read_sentence(at);
  constexpr std::string_view form = "0000-00-00";
  const bool shaped = text.size() == form.size() && std::ranges::equal(text, form, [](char letter, char of_form) {
                        return of_form == '0' ? letter >= '0' && letter <= '9' : letter == of_form;
                      });
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  const bool is_date =
      shaped && std::sscanf(text.c_str(), "%4d-%2u-%2u", &year, &month, &day) == 3 &&  // NOLINT(cert-err34-c): digits
      std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)).ok();
  if (!is_date) refuse(at, "must be a date, YYYY-MM-DD");
  return text;
}

gate_verdict read_verdict(const json_at& at, waiver_list kind) {
  const auto word = read_sentence(at);
  using enum gate_verdict;
  for (const auto one : {regressed, inconclusive, missing, failed}) {
    if (word == to_string(one) && (one == failed) == (kind == waiver_list::known_issues)) return one;
  }
  refuse(at, kind == waiver_list::waivers
                 ? "must be one of regressed, inconclusive, missing; a wrong result is no matter of waiving"
                 : "must be failed; all else is a waiver");
}

waiver read_entry(const json_at& at, waiver_list kind) {
  require_object(at);
  require_known(at, {"scenario", "verdict", "owner", "reason", "link", "expires", "testbed"});
  waiver one;
  one.scenario = read_sentence(member(at, "scenario"));
  one.verdict = read_verdict(member(at, "verdict"), kind);
  one.owner = read_sentence(member(at, "owner"));
  one.reason = read_sentence(member(at, "reason"));
  one.link = read_sentence(member(at, "link"));
  one.expires = read_date(member(at, "expires"));
  if (at.value.contains("testbed")) one.testbed = read_sentence(member(at, "testbed"));
  return one;
}

std::string name_of(const waiver& one) {
  return "the entry of " + one.owner + " for " + one.scenario + " (" + std::string(to_string(one.verdict)) + ", " +
         one.link + ')';
}

}  // namespace

std::vector<waiver> read_waivers(const std::filesystem::path& file, waiver_list kind) {
  const auto json = parse_json_text(read_text_file(file), file.string());
  const json_at at{json, {file.string(), ""}};
  require_object(at);
  require_known(at, {"schema", "entries"});
  if (member(at, "schema").value != waivers_schema) {
    refuse(member(at, "schema"), "must be " + std::to_string(waivers_schema));
  }
  const auto entries = member(at, "entries");
  require_array(entries);
  std::vector<waiver> list;
  for (std::size_t i = 0; i < entries.value.size(); ++i) list.push_back(read_entry(element(entries, i), kind));
  return list;
}

std::vector<std::string> apply_waivers(gate_result& result, const std::vector<waiver>& list, const testbed& bed,
                                       const std::string& today) {
  std::vector<std::string> told;
  for (const auto& one : list) {
    if (one.expires < today) {
      result.failures.push_back(name_of(one) + " expired on " + one.expires + ": mend it, or take it out of the list");
      continue;
    }
    if (!matches(one.testbed, key_of(bed))) continue;
    bool needed = false;
    for (auto& scenario : result.scenarios) {
      if (scenario.verdict != one.verdict || !matches(one.scenario, scenario.id)) continue;
      needed = true;
      scenario.waived_by = one.owner + ", until " + one.expires + ": " + one.reason + " (" + one.link + ')';
    }
    if (!needed)
      told.push_back(name_of(one) + " is not needed here: nothing it covers is " + std::string(to_string(one.verdict)));
  }
  return told;
}

}  // namespace switchyard::harness::gate
