// SPDX-License-Identifier: Apache-2.0
// switchyard explain RECORDS.jsonl:WHICH: one record, and what its words mean.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <set>

#include "explain_options.hpp"
#include "switchyard/harness/printable.hpp"
#include "switchyard/harness/record_reader.hpp"
#include "switchyard/harness/recorded_case.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/harness/summary.hpp"

namespace switchyard::tools {
namespace {

/// The place in `records.cases` of a line, counted as editors do, or of an id.
std::size_t index_of(const harness::run_records& records, const harness::input_place& place, std::string_view which) {
  std::size_t line = 0;
  const auto [rest, failure] = std::from_chars(which.data(), which.data() + which.size(), line);
  if (failure == std::errc{} && rest == which.data() + which.size()) {
    if (line >= 2 && line <= records.lines.size()) return line - 2;
    harness::refuse(place, which, "must be the line of a case, 2 to " + std::to_string(records.lines.size()));
  }
  for (std::size_t i = 0; i < records.cases.size(); ++i) {
    if (records.cases[i].at("id").get_ref<const std::string&>() == which) return i;
  }
  harness::refuse(place, which, "no record of a case with this id");
}

/// As the header says; records of another program may lack it.
std::string fabric_of(const harness::run_records& records) {
  const auto run = records.header.find("run");
  if (run == records.header.end() || !run->is_object()) return "unknown";
  const auto fabric = run->find("fabric");
  return fabric != run->end() && fabric->is_string() ? harness::printable(fabric->get<std::string>()) : "unknown";
}

}  // namespace

void explain_record(std::string_view file, std::string_view which) {
  const auto records = harness::read_records_file(file);
  const harness::input_place place{std::string(file), ""};
  const auto index = index_of(records, place, which);
  const auto line = std::to_string(index + 2);
  const auto one = harness::parse_case_record(records.cases[index], {place.file + ": record " + line, ""});
  const auto& result = one.result;
  std::cout << one.id << ": " << to_string(result.status) << " with seed " << one.seed << ", "
            << harness::duration_text(one.elapsed.count()) << " on the " << fabric_of(records) << " fabric, "
            << harness::bytes_text(result.checked_bytes) << " compared\n";
  if (!result.reason.empty()) std::cout << "  " << harness::printable(result.reason) << '\n';
  if (const auto& error = result.low_precision_error) {
    std::cout << "  low precision: results are off sums in fp32 by " << error->rms_relative
              << " (rms, relative), at most by " << error->max_relative << " of an element, " << error->mean_relative
              << " in the mean; " << error->left_out << " of " << error->elements + error->left_out
              << " elements are left out, being infinite or NaN\n";
  }
  std::set<std::string_view> words;
  if (result.status != harness::case_status::pass) words.insert(to_string(result.status));
  for (const auto& found : result.findings) {
    std::cout << "  " << harness::printable(describe(found)) << '\n';
    words.insert(to_string(found.verdict));
  }
  if (result.total_findings > result.findings.size()) {
    std::cout << "  and " << result.total_findings - result.findings.size() << " findings more\n";
  }
  for (const auto& fault : result.faults) {
    std::cout << "  rank " << fault.rank << ": " << harness::printable(fault.message) << '\n';
    words.insert(to_string(fault.record.code));
    if (fault.record.field != step_field::none) words.insert(to_string(fault.record.field));
    if (fault.record.awaited != awaited::nothing) words.insert(to_string(fault.record.awaited));
  }
  for (const auto word : words) explain_word(word);
}

}  // namespace switchyard::tools
