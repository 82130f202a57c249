// SPDX-License-Identifier: Apache-2.0
#include "gate_options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "common_options.hpp"
#include "numbers.hpp"
#include "switchyard/harness/gate/compare.hpp"
#include "switchyard/harness/gate/exports.hpp"
#include "switchyard/harness/gate/verdict_record.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_writer.hpp"

namespace switchyard::tools {
namespace gate = harness::gate;

void add_gate_options(CLI::App& command, gate_arguments& into) {
  command.add_option("--percent", into.percent, "A shift of fewer percent of the base is no regression")
      ->type_name("P")
      ->capture_default_str();
  command.add_option("--least-us", into.least_us, "Nor is one of fewer microseconds")
      ->type_name("US")
      ->capture_default_str();
  command.add_option("--noise", into.noise, "Samples of bench --aa, whose noise is a floor too")->type_name("FILE");
  command.add_option("--out", into.out, "Write verdicts as JSON lines to this file, for explain")->type_name("FILE");
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
      "is\nmissing or failed; 3 nothing to compare; 4 inconclusive: too few launches, or another testbed; 5 usage or "
      "bad "
      "input.");
}

void require_gate_texts(const CLI::App& command, const gate_arguments& arguments) {
  require_text(command, "--noise", arguments.noise);
  require_text(command, "--out", arguments.out);
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
  const auto result = gate::compare_sets(base, current, rules);
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
