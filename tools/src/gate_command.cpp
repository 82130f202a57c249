// SPDX-License-Identifier: Apache-2.0
// switchyard compare and gate: whether one set of samples is slower than another.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "common_options.hpp"
#include "gate_options.hpp"
#include "switchyard/harness/gate/baseline.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace gate = harness::gate;
namespace {

struct compare_arguments {
  gate_arguments gate;
  std::string base;  ///< a file or folder of samples; of gate the folder of baselines
  std::string current;
};

harness::exit_code compare_with_baseline(const compare_arguments& arguments) {
  (void)read_rules(arguments.gate);
  const gate::baseline_folder folder(arguments.base);
  const auto current = gate::read_samples(arguments.current);
  const auto base = folder.accepted(current.bed);
  if (base) return judge_and_tell(*base, current, arguments.gate);
  std::string others;
  for (const auto& one : folder.standing()) others += "; there is one of " + one.testbed;
  const auto why = "gate: " + arguments.base + ": no accepted baseline of this testbed, " + key_of(current.bed) +
                   others + "; to accept one: switchyard baseline accept " + arguments.base +
                   " SAMPLES --owner NAME --reason TEXT, with SAMPLES of bench --launches N --aa --out SAMPLES";
  if (others.empty()) throw harness::input_error(why);
  std::cerr << "switchyard: " << why << std::endl;
  return harness::exit_code::inconclusive;
}

}  // namespace

command add_compare_command(CLI::App& app) {
  auto* added = app.add_subcommand("compare", "Judge one set of samples against another");
  const auto arguments = std::make_shared<compare_arguments>();
  added->add_option("base", arguments->base, "Samples, a bench, a run, or a folder of them")->required();
  added->add_option("current", arguments->current, "The same, to be compared with it")->required();
  add_gate_options(*added, arguments->gate);
  return {added, [added, arguments] {
            require_text(*added, "base", arguments->base);
            require_text(*added, "current", arguments->current);
            require_gate_texts(*added, arguments->gate);
            (void)read_rules(arguments->gate);
            const auto base = gate::read_samples(arguments->base);
            return judge_and_tell(base, gate::read_samples(arguments->current), arguments->gate);
          }};
}

command add_gate_command(CLI::App& app) {
  auto* added = app.add_subcommand("gate", "Judge samples against the accepted baseline of their testbed");
  const auto arguments = std::make_shared<compare_arguments>();
  added->add_option("--baseline", arguments->base, "Folder of accepted baselines")->type_name("DIR")->required();
  added->add_option("current", arguments->current, "Samples, or a folder of them")->required();
  add_gate_options(*added, arguments->gate);
  return {added, [added, arguments] {
            require_text(*added, "--baseline", arguments->base);
            require_text(*added, "current", arguments->current);
            require_gate_texts(*added, arguments->gate);
            return compare_with_baseline(*arguments);
          }};
}

}  // namespace switchyard::tools
