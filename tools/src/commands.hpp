// SPDX-License-Identifier: Apache-2.0
// The program's commands. Each has a file that adds its options to the command line and does what it is for; main.cpp
// only parses and turns exceptions into messages and exit codes. A new command: a file, a line here, a line in
// main.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "switchyard/harness/exit_code.hpp"

namespace CLI {
class App;
}

namespace switchyard::tools {

/// How the program was called.
struct invocation {
  std::string program;                 ///< for lines that repeat a case
  std::vector<std::string> arguments;  ///< without the program, for the records
};

struct command {
  CLI::App* app = nullptr;                  ///< asked by main.cpp whether it was given
  std::function<harness::exit_code()> run;  ///< called after parsing
};

/// Prints suites, scenarios and how many cases each has; or case ids, one per line.
command add_list_command(CLI::App& app);

/// Runs the chosen cases, or says what running them would take. Everything that can be wrong with the input is found
/// before the first case.
command add_run_command(CLI::App& app, const invocation& call);

/// Says what a case is, or what a word in the output means.
command add_explain_command(CLI::App& app, const invocation& call);

/// Times dispatch and combine on GPUs.
command add_bench_command(CLI::App& app, const invocation& call);

/// Measures on GPUs up to how many tokens a step should go by lamport.
command add_tune_command(CLI::App& app);

/// Judges one set of samples against another.
command add_compare_command(CLI::App& app);

/// Judges samples against the accepted baseline of their testbed.
command add_gate_command(CLI::App& app);

/// Measures on real samples how often the gate is right.
command add_selftest_command(CLI::App& app);

/// Writes samples for other tools.
command add_export_command(CLI::App& app);

/// Accepts, rejects and lists baselines.
command add_baseline_command(CLI::App& app);

}  // namespace switchyard::tools
