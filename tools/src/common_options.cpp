// SPDX-License-Identifier: Apache-2.0
// Options that several commands have.
#include "common_options.hpp"

#include <CLI/CLI.hpp>

#include "numbers.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {

void add_scenarios_option(CLI::App& command, common_options& into) {
  command.add_option("--scenarios", into.scenarios, "Folder of scenario files and profiles.json")->type_name("DIR");
}

void add_common_options(CLI::App& command, common_options& into) {
  command.add_option("suite", into.selection.suites, "Suites: names, or paths of .json files");
  command.add_option("--filter", into.selection.filter, "Keep cases whose id matches this shell pattern")
      ->type_name("GLOB");
  command.add_option("--tag", into.selection.tags, "Keep scenarios with this tag; repeat it to ask for several")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command.add_option("--ranks", into.ranks_text, "Run with this many ranks instead of those of the scenario")
      ->type_name("N");
  add_scenarios_option(command, into);
}

void read_common_options(const CLI::App& command, common_options& into) {
  require_text(command, "--filter", into.selection.filter);
  require_text(command, "--scenarios", into.scenarios.string());
  if (command.count("--ranks") > 0) into.selection.ranks = parse_rank_count("--ranks", into.ranks_text);
}

void require_text(const CLI::App& command, const std::string& option, const std::string& text) {
  if (command.count(option) > 0 && text.empty()) throw harness::input_error(option + ": must not be empty");
}

harness::suite_catalog open_catalog(const common_options& options) {
  return harness::suite_catalog(options.scenarios.empty() ? default_scenarios_folder() : options.scenarios);
}

}  // namespace switchyard::tools
