// SPDX-License-Identifier: Apache-2.0
// The program switchyard: parses the command line and turns exceptions into messages and exit codes.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <new>

#include "commands.hpp"
#include "numbers.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/spec/errors.hpp"

namespace {

using switchyard::harness::exit_code;

std::string version_text() {
  const auto build = switchyard::harness::read_environment();
  auto text = "switchyard " + build.library_version;
  if (!build.git_commit.empty()) {
    text += " (commit " + build.git_commit + (build.git_dirty.value_or(false) ? ", modified" : "") + ')';
  }
  return text;
}

/// One line, whatever was in the input: a message never looks like two.
exit_code report(std::string message, exit_code code) {
  for (char& letter : message) {
    if (static_cast<unsigned char>(letter) < 0x20U || letter == 0x7F) letter = ' ';
  }
  message.erase(message.find_last_not_of(' ') + 1);
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

/// An option that is given must say something: an unset shell variable is not "all".
void require_text(const CLI::App& command, const std::string& option, const std::string& text) {
  if (command.count(option) > 0 && text.empty()) throw switchyard::harness::input_error(option + ": must not be empty");
}

void add_common_options(CLI::App& command, switchyard::tools::common_options& into, std::string& ranks) {
  command.add_option("suite", into.selection.suites, "Suites: names, or paths of .json files");
  command.add_option("--filter", into.selection.filter, "Keep cases whose id matches this shell pattern")
      ->type_name("GLOB");
  command.add_option("--tag", into.selection.tags, "Keep scenarios with this tag; repeat it to ask for several")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command.add_option("--ranks", ranks, "Run with this many ranks instead of those of the scenario")->type_name("N");
  command.add_option("--scenarios", into.scenarios, "Folder of scenario files and profiles.json")->type_name("DIR");
}

exit_code run_program(int argc, char** argv) {
  CLI::App app{"Moves mixture-of-experts tokens between ranks and checks every byte.", "switchyard"};
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 all passed; 1 performance regression; 2 a case failed, crashed, timed out or is missing;\n"
      "3 something required is absent or nothing passed; 4 inconclusive; 5 usage or input error; 6 internal error.");

  std::string ranks;
  switchyard::tools::list_options list;
  auto* list_app = app.add_subcommand("list", "List suites, scenarios and cases");
  add_common_options(*list_app, list.common, ranks);
  bool ids_only = false;
  list_app->add_flag("--cases", ids_only, "Print case ids, one per line");

  switchyard::tools::run_command_options run;
  auto* run_app = app.add_subcommand("run", "Run cases and write records");
  add_common_options(*run_app, run.common, ranks);
  run_app->add_option("--case", run.common.selection.case_id, "Run exactly this case")->type_name("ID");
  std::string seed = "1";
  run_app->add_option("--seed", seed, "Seed of everything random")->type_name("S")->capture_default_str();
  run_app->add_option("--out", run.out, "Folder for records; made when needed")
      ->type_name("DIR")
      ->capture_default_str();
  std::string arena_bytes;
  run_app
      ->add_option(
          "--arena-bytes", arena_bytes,
          "Most memory that a case may use: bytes, or 8G for 8 * 1024^3; default three quarters of the machine")
      ->type_name("BYTES");

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
    return report(unknown_command ? "unknown command " + first + "; commands are list and run" : error.what(),
                  exit_code::bad_input);
  }
  const auto& chosen = list_app->parsed() ? *list_app : *run_app;
  auto& common = list_app->parsed() ? list.common : run.common;
  require_text(chosen, "--filter", common.selection.filter);
  require_text(chosen, "--scenarios", common.scenarios.string());
  if (chosen.count("--ranks") > 0) {
    common.selection.ranks = switchyard::tools::parse_rank_count("--ranks", ranks);
  }
  if (list_app->parsed()) {
    using detail = switchyard::tools::list_options::detail;
    list.shown = ids_only ? detail::cases : detail::scenarios;
    return list_command(list);
  }
  run.seed = switchyard::tools::parse_count("--seed", seed);
  require_text(*run_app, "--case", run.common.selection.case_id.value_or(""));
  require_text(*run_app, "--out", run.out.string());
  if (run_app->count("--arena-bytes") > 0)
    run.arena_bytes = switchyard::tools::parse_bytes("--arena-bytes", arena_bytes);
  run.program = argv[0];
  run.arguments.assign(argv + 1, argv + argc);
  return run_command(run);
}

}  // namespace

int main(int argc, char** argv) {
  auto code = exit_code::internal_error;
  hold_standard_descriptors();
  // A reader that goes away must not take the records with it; the lost output is reported at the end.
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): cannot fail for a signal that exists
  try {
    code = run_program(argc, argv);
  } catch (const switchyard::harness::input_error& error) {
    code = report(error.what(), exit_code::bad_input);
  } catch (const switchyard::out_of_memory& error) {
    code = report(error.what(), exit_code::environment);
  } catch (const std::bad_alloc&) {
    code = report("out of memory", exit_code::environment);
  } catch (const std::exception& error) {
    code = report(std::string("internal error: ") + error.what(), exit_code::internal_error);
  }
  std::cout.flush();
  if (!std::cout && code == exit_code::all_passed) {
    code = report("standard output could not be written", exit_code::environment);
  }
  return static_cast<int>(code);
}
