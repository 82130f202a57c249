// SPDX-License-Identifier: Apache-2.0
// The program switchyard: parses the command line and turns exceptions into messages and exit codes.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/printable.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/spec/errors.hpp"

namespace {

using switchyard::harness::exit_code;

std::string version_text() {
  const auto build = switchyard::harness::read_environment();
  auto text = "switchyard " + build.version;
  if (!build.git_commit.empty()) {
    text += " (commit " + build.git_commit + (build.git_dirty.value_or(false) ? ", modified" : "") + ')';
  }
  return text;
}

enum class errors_as { text, json_too };

/// One line on standard error, whatever was in the input: a message never looks like two, nor like another. A program
/// that reads standard output as JSON learns it there as well.
exit_code report(std::string message, exit_code code, errors_as form) {
  message.erase(message.find_last_not_of(" \n") + 1);
  message = switchyard::harness::printable(message);
  if (form == errors_as::json_too) {
    std::cout << switchyard::harness::record_line(switchyard::harness::error_json(message, static_cast<int>(code)))
              << std::endl;
  }
  std::cerr << "switchyard: " << message << std::endl;
  return code;
}

/// A file opened later must not get the number of a standard stream that the caller has closed: what is meant for the
/// terminal would end up in it.
void hold_standard_descriptors() {
  int descriptor = ::open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

exit_code run_program(int argc, char** argv) {
  CLI::App app{"Moves mixture-of-experts tokens between ranks and checks every byte.", "switchyard"};
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 all passed; 1 performance regression; 2 a case failed, crashed, timed out or is missing;\n"
      "3 something required is absent or nothing passed; 4 inconclusive; 5 usage or input error; 6 internal error.\n"
      "There is no completion for shells: the parser of options has none, and list --cases feeds one of your own.\n");
  const switchyard::tools::invocation call{argv[0], {argv + 1, argv + argc}};
  const std::vector commands{
      switchyard::tools::add_list_command(app),          switchyard::tools::add_run_command(app, call),
      switchyard::tools::add_explain_command(app, call), switchyard::tools::add_bench_command(app, call),
      switchyard::tools::add_tune_command(app),          switchyard::tools::add_compare_command(app),
      switchyard::tools::add_gate_command(app),          switchyard::tools::add_baseline_command(app),
      switchyard::tools::add_export_command(app),        switchyard::tools::add_selftest_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      app.exit(error);
      return exit_code::all_passed;
    }
    // The parser would only say that a command is missing.
    const std::string first = argc > 1 ? argv[1] : "";
    const bool unknown_command = !first.empty() && first.front() != '-' && app.get_subcommands().empty();
    throw switchyard::harness::input_error(
        unknown_command
            ? "unknown command " + first +
                  "; commands are list, run, explain, bench, tune, compare, gate, baseline, export and selftest"
            : error.what());
  }
  for (const auto& one : commands) {
    if (one.app->parsed()) return one.run();
  }
  return exit_code::internal_error;  // require_subcommand(1)
}

}  // namespace

int main(int argc, char** argv) {
  auto code = exit_code::internal_error;
  hold_standard_descriptors();
  // A reader that goes away must not take the records with it; the lost output is reported at the end.
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): cannot fail for a signal that exists
  // Nor must a limit on the size of files: a record that does not fit is an error of writing like any other.
  std::signal(SIGXFSZ, SIG_IGN);  // NOLINT(cert-err33-c)
  // Before parsing, so that errors of parsing have the right form too.
  const bool json = std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
  const auto form = json ? errors_as::json_too : errors_as::text;
  try {
    code = run_program(argc, argv);
  } catch (const switchyard::harness::input_error& error) {
    code = report(error.what(), exit_code::bad_input, form);
  } catch (const switchyard::harness::environment_error& error) {
    code = report(error.what(), exit_code::environment, form);
  } catch (const switchyard::cuda_error& error) {
    code = report(error.what(), exit_code::environment, form);
  } catch (const switchyard::out_of_memory& error) {
    code = report(error.what(), exit_code::environment, form);
  } catch (const std::bad_alloc&) {
    code = report("out of memory", exit_code::environment, form);
  } catch (const std::exception& error) {
    code = report(std::string("internal error: ") + error.what(), exit_code::internal_error, form);
  }
  std::cout.flush();
  if (!std::cout && code == exit_code::all_passed) {
    code = report("standard output could not be written", exit_code::environment, errors_as::text);
  }
  return static_cast<int>(code);
}
