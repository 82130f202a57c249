// SPDX-License-Identifier: Apache-2.0
// The program's commands. main.cpp parses the command line; each command is one function of its options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "switchyard/harness/exit_code.hpp"
#include "switchyard/harness/suite_selection.hpp"

namespace switchyard::tools {

struct common_options {
  std::filesystem::path scenarios;  ///< empty: the folder that belongs to this program
  harness::case_selection selection;
};

struct list_options {
  enum class detail : std::uint8_t { scenarios, cases };
  common_options common;
  detail shown = detail::scenarios;
};

struct run_command_options {
  common_options common;
  std::uint64_t seed = 1;
  std::filesystem::path out = "records";
  std::size_t arena_bytes = 0;         ///< 0: three quarters of the machine's memory
  std::string program = "switchyard";  ///< as it was called, for lines that repeat a case
  std::vector<std::string> arguments;  ///< as given, for the records
};

/// Prints suites, scenarios and how many cases each has; or case ids, one per line.
harness::exit_code list_command(const list_options& options);

/// Runs the chosen cases. Everything that can be wrong with the input is found before the first case.
harness::exit_code run_command(const run_command_options& options);

/// The folder of scenarios that belongs to this program: of its installation, else of its sources.
std::filesystem::path default_scenarios_folder();

}  // namespace switchyard::tools
