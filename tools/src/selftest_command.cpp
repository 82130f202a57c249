// SPDX-License-Identifier: Apache-2.0
// switchyard selftest: how often the gate finds a slowdown in real samples, and how often it sees one that is not
// there.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "common_options.hpp"
#include "numbers.hpp"
#include "switchyard/harness/gate/selftest.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_writer.hpp"

namespace switchyard::tools {
namespace gate = harness::gate;
namespace {

struct selftest_arguments {
  std::string samples;
  std::string trials = "100";
  std::string slower = "6";
  std::string seed = "1";
  std::string out;
};

harness::exit_code self_test(const selftest_arguments& arguments) {
  constexpr std::int64_t most_trials = 100'000;
  constexpr double most_percent = 1000;
  gate::selftest_options options;
  options.trials = static_cast<int>(parse_count_within("--trials", arguments.trials, 1, most_trials));
  options.slower_percent = parse_number_within("--slower", arguments.slower, 0, most_percent);
  options.seed = parse_count("--seed", arguments.seed);
  const gate::gate_rules rules;
  const auto rates = gate::self_test(gate::read_samples(arguments.samples), rules, options);
  if (!arguments.out.empty()) {
    harness::write_file_atomically(arguments.out, harness::record_line(to_json(rates, options)) + '\n');
  }
  std::cout << selftest_text(rates, rules, options);
  // What the gate promises.
  constexpr double least_detection = 0.95;
  constexpr double most_alarms = 0.02;
  const bool kept = rates.detection() >= least_detection && rates.alarm_rate() <= most_alarms;
  return kept ? harness::exit_code::all_passed : harness::exit_code::failed;
}

}  // namespace

command add_selftest_command(CLI::App& app) {
  auto* added = app.add_subcommand("selftest", "Measure on real samples how often the gate is right");
  const auto arguments = std::make_shared<selftest_arguments>();
  added->add_option("samples", arguments->samples, "Samples of one build, as bench --aa writes them")->required();
  added->add_option("--trials", arguments->trials, "How often launches are dealt anew")
      ->type_name("N")
      ->capture_default_str();
  added->add_option("--slower", arguments->slower, "The slowdown put in, in percent; at least 3 times the noise")
      ->type_name("P")
      ->capture_default_str();
  added->add_option("--seed", arguments->seed, "Seed of the dealing")->type_name("S")->capture_default_str();
  added->add_option("--out", arguments->out, "Write the rates as a JSON line to this file")->type_name("FILE");
  added->footer(
      "Exit codes: 0 every scenario's slowdown is found in 95 of 100 trials and at most 2 in 100 unchanged scenarios "
      "are\nflagged; 2 not so; 5 usage, or samples that are too few.");
  return {added, [added, arguments] {
            require_text(*added, "samples", arguments->samples);
            require_text(*added, "--out", arguments->out);
            return self_test(*arguments);
          }};
}

}  // namespace switchyard::tools
