// SPDX-License-Identifier: Apache-2.0
// switchyard list: which suites, scenarios and cases there are.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "common_options.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

struct list_options {
  common_options common;
  bool ids_only = false;
};

void print_suite(const harness::suite& from, const std::vector<harness::case_spec>& cases) {
  std::cout << from.name << ": " << from.description << " (" << cases.size() << (cases.size() == 1 ? " case" : " cases")
            << ")\n";
  if (!from.includes.empty()) {
    std::cout << "  includes";
    for (const auto& other : from.includes) std::cout << (&other == &from.includes.front() ? " " : ", ") << other.name;
    std::cout << '\n';
  }
  for (const auto& which : from.scenarios) {
    const auto count =
        std::count_if(cases.begin(), cases.end(), [&](const auto& spec) { return spec.name == which.name; });
    if (count == 0) continue;
    std::cout << "  " << from.name << '/' << which.name << "  " << count << (count == 1 ? " case" : " cases") << "  "
              << which.sentence;
    for (const auto& tag : which.tags) std::cout << " [" << tag << ']';
    std::cout << '\n';
  }
}

harness::exit_code list(const list_options& options) {
  const auto catalog = open_catalog(options.common);
  auto selection = options.common.selection;
  if (selection.suites.empty()) selection.suites = catalog.names();
  std::size_t total = 0;
  for (const auto& from : harness::load_suites(catalog, selection)) {
    const auto cases = harness::cases_of(from, catalog, selection);
    total += cases.size();
    if (options.ids_only) {
      for (const auto& spec : cases) std::cout << spec.id << '\n';
    } else if (!cases.empty() || (!from.includes.empty() && from.scenarios.empty())) {
      print_suite(from, cases);
    }
  }
  if (total == 0) throw harness::input_error("no case matches");
  return harness::exit_code::all_passed;
}

}  // namespace

command add_list_command(CLI::App& app) {
  auto* added = app.add_subcommand("list", "List suites, scenarios and cases");
  const auto options = std::make_shared<list_options>();
  add_common_options(*added, options->common);
  added->add_flag("--cases", options->ids_only, "Print case ids, one per line");
  return {added, [added, options] {
            read_common_options(*added, options->common);
            return list(*options);
          }};
}

}  // namespace switchyard::tools
