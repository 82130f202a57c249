// SPDX-License-Identifier: Apache-2.0
// Options that several commands have: where scenarios lie and which cases are meant.
#pragma once

#include <filesystem>
#include <string>

#include "switchyard/harness/suite_catalog.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace CLI {
class App;
}

namespace switchyard::tools {

struct common_options {
  std::filesystem::path scenarios;  ///< empty: the folder that belongs to this program
  harness::case_selection selection;
  std::string ranks_text;  ///< as given; read_common_options makes selection.ranks of it
};

void add_scenarios_option(CLI::App& command, common_options& into);
/// The above, suites, --filter, --tag and --ranks. `into` must live until the command line is parsed.
void add_common_options(CLI::App& command, common_options& into);
/// What remains to be read when the command line has been parsed. Throws input_error.
void read_common_options(const CLI::App& command, common_options& into);

/// An option that is given must say something: an unset shell variable is not "all". Throws input_error.
void require_text(const CLI::App& command, const std::string& option, const std::string& text);

/// Throws input_error.
harness::suite_catalog open_catalog(const common_options& options);

/// The folder of scenarios that belongs to this program: of its installation, else of its sources.
std::filesystem::path default_scenarios_folder();

}  // namespace switchyard::tools
