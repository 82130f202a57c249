// SPDX-License-Identifier: Apache-2.0
// switchyard explain VERDICTS.jsonl:WHICH: how the gate came to a verdict.
#include <charconv>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "explain_options.hpp"
#include "switchyard/harness/gate/verdict_record.hpp"
#include "switchyard/harness/printable.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {

bool holds_verdicts(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return false;
  const auto first = nlohmann::json::parse(line, nullptr, false);
  if (!first.is_object()) return false;
  const auto record = first.find("record");
  return record != first.end() && (*record == "gate_verdict" || *record == "gate_summary");
}

void explain_verdict(const std::string& file, std::string_view which) {
  std::size_t wanted = 0;
  const auto [rest, failure] = std::from_chars(which.data(), which.data() + which.size(), wanted);
  const bool by_line = failure == std::errc{} && rest == which.data() + which.size();
  std::ifstream in(file);
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (by_line && number != wanted) continue;
    const auto record = nlohmann::json::parse(line, nullptr, false);
    const auto where = file + ": record " + std::to_string(number);
    if (!by_line) {
      if (!record.is_object() || record.value("record", nlohmann::json()) != "gate_verdict" ||
          record.value("scenario", nlohmann::json()) != which) {
        continue;
      }
    }
    const auto found = harness::gate::verdict_from(record, where);
    std::cout << arithmetic_of(found.verdict, found.rules);
    explain_word(to_string(found.verdict.verdict));
    return;
  }
  harness::refuse({file, ""}, which, "no verdict of this scenario or line");
}

}  // namespace switchyard::tools
