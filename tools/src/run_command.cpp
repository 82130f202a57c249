// SPDX-License-Identifier: Apache-2.0
// switchyard run: runs cases, writes records, prints what happened.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "commands.hpp"
#include "interrupt.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/suite_runner.hpp"

namespace switchyard::tools {
namespace {

/// What stands for the run in file names: its suites, or the suite of its one case. Only letters that need no quotes.
std::string file_stem(std::chrono::system_clock::time_point started, const std::vector<harness::case_spec>& cases) {
  auto stem = harness::utc_text(started);
  std::erase_if(stem, [](char letter) { return letter == '-' || letter == ':'; });
  std::vector<std::string> suites;
  for (const auto& spec : cases) {
    if (std::find(suites.begin(), suites.end(), spec.suite) == suites.end()) suites.push_back(spec.suite);
  }
  constexpr std::size_t named = 3;
  for (std::size_t i = 0; i < std::min(named, suites.size()); ++i) stem += '-' + suites[i];
  if (suites.size() > named) stem += "-and-more";
  return stem;
}

std::string shell_word(const std::string& text) {
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string_view("@%+=:,./_-").find(static_cast<char>(letter)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return quoted + '\'';
}

/// The command that repeats a case, up to --case: it must find the same scenario file, and a suite given by its path is
/// not in the folder.
std::string repeat_command(const std::string& program, const common_options& options) {
  const auto& suites = options.selection.suites;
  const auto is_path = [](const std::string& suite) {
    return suite.find('/') != std::string::npos || suite.ends_with(".json");
  };
  std::string command = shell_word(program) + " run";
  if (std::any_of(suites.begin(), suites.end(), is_path)) {
    for (const auto& suite : suites) command += ' ' + shell_word(suite);
  }
  if (!options.scenarios.empty()) command += " --scenarios " + shell_word(options.scenarios.string());
  return command;
}

harness::progress_options progress_for_stdout(const run_command_options& options) {
  harness::progress_options result;
  result.seed = options.seed;
  result.repeat_command = repeat_command(options.program, options.common);
  if (::isatty(STDOUT_FILENO) != 0) {
    result.how = harness::progress_options::style::terminal;
    winsize window{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) result.columns = window.ws_col;
  }
  return result;
}

std::size_t arena_limit(const run_command_options& options, const harness::environment& where) {
  if (options.arena_bytes != 0) return options.arena_bytes;
  constexpr std::uint64_t quarters = 3;  // of 4; the rest is for the system and everything outside the arena
  return static_cast<std::size_t>(where.memory_bytes / 4 * quarters);
}

void print_end(const harness::run_summary& summary, const harness::record_files& files, bool summary_written) {
  harness::print_table(std::cout, summary);
  std::cout << "records: " << files.records.string() << '\n';
  if (summary_written) std::cout << "summary: " << files.summary.string() << '\n';
  const auto code = summary.code();
  if (code != harness::exit_code::all_passed) {
    std::cout << "exit code " << static_cast<int>(code) << ": " << harness::meaning(code) << '\n';
  }
  std::cout << std::flush;
}

/// Opens the records and writes their header; a folder that takes no header takes no records either.
harness::record_writer open_records(harness::record_files& files, const harness::environment& where,
                                    const harness::run_description& run) {
  harness::record_writer records(std::move(files.sink));
  try {
    records.append(harness::record_line(harness::header_json(where, run)));
  } catch (const harness::record_error& error) {
    std::error_code ignored;
    std::filesystem::remove(files.records, ignored);  // a file without a header is nobody's record
    throw harness::input_error(files.records.string() + ": " + error.what());
  }
  return records;
}

}  // namespace

harness::exit_code run_command(const run_command_options& options) {
  const auto started = std::chrono::system_clock::now();
  const auto& folder = options.common.scenarios;
  const harness::suite_catalog catalog(folder.empty() ? default_scenarios_folder() : folder);
  const auto cases = harness::select_cases(catalog, options.common.selection);
  const auto where = harness::read_environment();
  const auto bytes = harness::arena_bytes_for(cases, arena_limit(options, where), harness::required_bytes);
  harness::arena memory(bytes);

  auto files = harness::create_record_files(options.out, file_stem(started, cases));
  auto records =
      open_records(files, where, {harness::utc_text(started), options.seed, cases.size(), options.arguments});

  harness::run_options how;
  how.seed = options.seed;
  const auto run = [&](const harness::case_spec& spec) { return harness::run_case(spec, memory, how); };
  harness::progress shown(std::cout, progress_for_stdout(options));
  install_interrupt_handlers();
  const auto summary = harness::run_cases(cases, run, records, shown, {options.seed, interrupted});

  bool summary_written = true;
  try {
    harness::write_file_atomically(files.summary, to_json(summary, options.seed).dump(2) + '\n');
  } catch (const harness::record_error& error) {
    std::cerr << "switchyard: " << error.what() << '\n';
    summary_written = false;
  }
  print_end(summary, files, summary_written);
  // Missing data never passes.
  if (!summary_written && summary.code() == harness::exit_code::all_passed) return harness::exit_code::environment;
  return summary.code();
}

}  // namespace switchyard::tools
