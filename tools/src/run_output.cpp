// SPDX-License-Identifier: Apache-2.0
// Lines that can be pasted back, and the end of a run.
#include "run_output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace switchyard::tools {
namespace {

bool is_path(const std::string& suite) { return suite.find('/') != std::string::npos || suite.ends_with(".json"); }

/// "36 cases: 35 pass, 1 fail".
std::string count_text(const harness::run_outcome& outcome) {
  std::size_t all = 0;
  std::string counts;
  for (std::size_t i = 0; i < harness::num_case_statuses; ++i) {
    const auto number = outcome.cases[i];
    all += number;
    if (number == 0) continue;
    counts += (counts.empty() ? ": " : ", ") + std::to_string(number) + ' ' +
              std::string(to_string(static_cast<harness::case_status>(i)));
  }
  return std::to_string(all) + (all == 1 ? " case" : " cases") + counts;
}

}  // namespace

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

std::string repeat_command(const run_command_options& options) {
  const auto& suites = options.common.selection.suites;
  std::string command = shell_word(options.call.program) + " run";
  if (std::any_of(suites.begin(), suites.end(), is_path)) {
    for (const auto& suite : suites) command += ' ' + shell_word(suite);
  }
  const auto& folder = options.common.scenarios;
  if (!folder.empty()) command += " --scenarios " + shell_word(folder.string());
  if (options.fabric == fabric_kind::cuda) command += " --fabric cuda";
  // One host can repeat what a job has found.
  if (options.launch != launch_kind::threads) command += " --launch fork";
  if (options.gpus) command += " --gpus " + std::to_string(*options.gpus);
  return command;
}

std::string resume_command(const invocation& call, const std::filesystem::path& records) {
  std::string command = shell_word(call.program);
  bool skip_value = false;
  for (const auto& argument : call.arguments) {
    const bool skip = skip_value;
    skip_value = argument == "--out" || argument == "--resume";  // --resume says where the records are
    if (argument == "--fail-fast") continue;                     // it would end at the recorded failure again
    if (skip || skip_value || argument.starts_with("--out=") || argument.starts_with("--resume=")) continue;
    command += ' ' + shell_word(argument);
  }
  return command + " --resume " + shell_word(records.string());
}

harness::progress_options progress_for_stdout(const run_command_options& options) {
  using style = harness::progress_options::style;
  harness::progress_options result;
  result.seed = options.seed;
  result.repeat_command = repeat_command(options);
  if (options.shown == shown_output::quiet) {
    result.how = style::quiet;
  } else if (::isatty(STDOUT_FILENO) != 0) {
    result.how = style::terminal;
    winsize window{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) result.columns = window.ws_col;
  }
  return result;
}

void print_end(std::ostream& out, const run_command_options& options, const harness::run_summary& summary,
               const written_files& files, harness::exit_code code) {
  if (options.shown == shown_output::json) return;
  for (const auto& judged : summary.must_pass()) {
    for (const auto& one : judged.shortfalls) out << describe(judged.list, one) << '\n';
  }
  const auto code_text = "exit code " + std::to_string(static_cast<int>(code));
  if (options.shown == shown_output::quiet) {
    out << count_text(summary.outcome()) << "; " << code_text << "; records: " << files.records.string() << std::endl;
    return;
  }
  if (!summary.rows().empty()) harness::print_table(out, summary);
  out << "records: " << files.records.string() << '\n';
  if (!files.summary.empty()) out << "summary: " << files.summary.string() << '\n';
  if (!files.junit.empty()) out << "junit: " << files.junit.string() << '\n';
  if (summary.outcome().count(harness::case_status::missing) > 0) {
    out << "to go on: " << resume_command(options.call, files.records) << '\n';
  }
  if (code != harness::exit_code::all_passed) out << code_text << ": " << harness::meaning(code) << '\n';
  out << std::flush;
}

}  // namespace switchyard::tools
