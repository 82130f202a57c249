// SPDX-License-Identifier: Apache-2.0
#include "gate_options.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common_options.hpp"
#include "numbers.hpp"
#include "switchyard/harness/gate/compare.hpp"
#include "switchyard/harness/gate/exports.hpp"
#include "switchyard/harness/gate/verdict_record.hpp"
#include "switchyard/harness/gate/waivers.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_writer.hpp"

namespace switchyard::tools {
namespace gate = harness::gate;

namespace {

std::vector<gate::waiver> lists_of(const gate_arguments& arguments) {
  std::vector<gate::waiver> all;
  for (const auto& [file, kind] : {std::pair{&arguments.waivers, gate::waiver_list::waivers},
                                   std::pair{&arguments.known_issues, gate::waiver_list::known_issues}}) {
    if (file->empty()) continue;
    for (auto& one : gate::read_waivers(*file, kind)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

void add_gate_options(CLI::App& command, gate_arguments& into) {
  command.add_option("--percent", into.percent, "A shift of fewer percent of the base is no regression")
      ->type_name("P")
      ->capture_default_str();
  command.add_option("--least-us", into.least_us, "Nor is one of fewer microseconds")
      ->type_name("US")
      ->capture_default_str();
  command.add_option("--noise", into.noise, "Samples of bench --aa, whose noise is a floor too")->type_name("FILE");
  command.add_option("--out", into.out, "Write verdicts as JSON lines to this file, for explain")->type_name("FILE");
  command.add_option("--waivers", into.waivers, "List of what may be slower, missing or inconclusive for a while")
      ->type_name("FILE");
  command.add_option("--known-issues", into.known_issues, "List of what may be wrong for a while")->type_name("FILE");
  command.add_option("--junit", into.junit, "Write verdicts as JUnit XML to this file")->type_name("FILE");
  command.add_option("--csv", into.csv, "Write verdicts as comma-separated values to this file")->type_name("FILE");
  command.add_option("--openmetrics", into.openmetrics, "Write medians and verdicts as OpenMetrics text to this file")
      ->type_name("FILE");
  command.add_flag("--all", into.all, "List scenarios that pass, too");
  command.add_flag("--json", into.json, "Print verdicts and summary as JSON lines");
  command.footer(
      "A regression needs q < 0.05 (U test of launches, Benjamini-Hochberg over scenarios) and a shift whose lower\n"
      "bound exceeds the largest of --percent, --least-us and the noise of A/A launches. Samples come from bench\n"
      "--launches; a bench file is one launch, a folder of them many. Exit codes: 0 no worse; 1 regressed; 2 a "
      "scenario "
      "is\nmissing or failed; 3 nothing to compare, or all of it waived; 4 inconclusive: too few launches, or another "
      "testbed; 5 usage or "
      "bad "
      "input.");
}

void require_gate_texts(const CLI::App& command, const gate_arguments& arguments) {
  require_text(command, "--noise", arguments.noise);
  require_text(command, "--out", arguments.out);
  require_text(command, "--waivers", arguments.waivers);
  require_text(command, "--known-issues", arguments.known_issues);
  require_text(command, "--junit", arguments.junit);
  require_text(command, "--csv", arguments.csv);
  require_text(command, "--openmetrics", arguments.openmetrics);
}

gate::gate_rules read_rules(const gate_arguments& arguments) {
  constexpr double most_percent = 1000;
  constexpr double most_us = 1e6;
  gate::gate_rules rules;
  rules.percent = parse_number_within("--percent", arguments.percent, 0, most_percent);
  rules.least_us = parse_number_within("--least-us", arguments.least_us, 0, most_us);
  return rules;
}

harness::exit_code judge_and_tell(gate::sample_set base, const gate::sample_set& current,
                                  const gate_arguments& arguments) {
  const auto rules = read_rules(arguments);
  if (!arguments.noise.empty()) gate::add_noise(base, arguments.noise);
  const auto lists = lists_of(arguments);
  auto result = gate::compare_sets(base, current, rules);
  constexpr std::size_t date_letters = 10;  // of 2026-11-30T13:24:59Z
  const auto today = harness::utc_text(std::chrono::system_clock::now()).substr(0, date_letters);
  for (const auto& told : gate::apply_waivers(result, lists, current.bed, today)) std::cerr << told << std::endl;
  if (arguments.json || !arguments.out.empty()) {
    std::string lines;
    for (const auto& one : result.scenarios) lines += harness::record_line(gate::to_json(one, rules)) + '\n';
    lines += harness::record_line(gate::summary_json(result, rules, base, current)) + '\n';
    if (!arguments.out.empty()) harness::write_file_atomically(arguments.out, lines);
    if (arguments.json) std::cout << lines;
  }
  if (!arguments.junit.empty()) harness::write_file_atomically(arguments.junit, gate::junit_of(result));
  if (!arguments.csv.empty()) harness::write_file_atomically(arguments.csv, gate::csv_of(result));
  if (!arguments.openmetrics.empty()) {
    harness::write_file_atomically(arguments.openmetrics, gate::openmetrics_of(result));
  }
  if (!arguments.json) {
    const auto rows = arguments.all ? gate::table_rows::all : gate::table_rows::but_pass;
    std::cout << gate::verdict_table(result, rows) << gate::verdict_summary(result, rules, base, current);
  }
  return gate::exit_code_of(result);
}

}  // namespace switchyard::tools
