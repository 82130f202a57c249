// SPDX-License-Identifier: Apache-2.0
// Runs cases: opens or resumes records, tells whoever watches, writes the files of the end.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "interrupt.hpp"
#include "rank_launch.hpp"
#include "run_output.hpp"
#include "small_failures.hpp"
#include "switchyard/harness/digest.hpp"
#include "switchyard/harness/json_stream.hpp"
#include "switchyard/harness/junit.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/resume.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

/// What stands for the run in file names: its suites, or the suite of its one case. Only letters that need no quotes.
std::string file_stem(std::chrono::system_clock::time_point started, const run_command_options& options,
                      const std::vector<harness::case_spec>& cases) {
  auto stem = harness::utc_text(started);
  std::erase_if(stem, [](char letter) { return letter == '-' || letter == ':'; });
  std::vector<std::string> suites;
  for (const auto& spec : cases) {
    if (std::find(suites.begin(), suites.end(), spec.suite) == suites.end()) suites.push_back(spec.suite);
  }
  constexpr std::size_t named = 3;
  for (std::size_t i = 0; i < std::min(named, suites.size()); ++i) stem += '-' + suites[i];
  if (suites.size() > named) stem += "-and-more";
  if (options.part) stem += "-" + std::to_string(options.part->index) + "of" + std::to_string(options.part->count);
  return stem;
}

/// The file is written when all cases have run: that it cannot be must be known before. It replaces what is there, so
/// that must be a file.
void require_writable(const std::filesystem::path& path) {
  const harness::input_place place{"--junit", ""};
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    harness::refuse(place, path.string(), "is there and no regular file");
  }
  std::array<char, 5> begin{};
  std::ifstream there(path, std::ios::binary);
  if (there.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) != "<?xml") {
    harness::refuse(place, path.string(), "is there and no XML: it would be replaced");
  }
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure)) harness::refuse(place, path.string(), "its folder is not there");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    harness::refuse(place, path.string(), std::string("its folder takes no files: ") + std::strerror(errno));
  }
}

/// Records that are open for the lines of this run.
struct open_run {
  harness::record_files files;
  std::optional<harness::record_writer> records;
  std::string header_line;
  std::map<std::string, harness::recorded_case> done;
};

/// A folder that takes no header takes no records either.
open_run open_new(const run_command_options& options, const std::string& stem, const nlohmann::ordered_json& header) {
  open_run run;
  run.header_line = harness::record_line(header);
  run.files = harness::create_record_files(options.out, stem);
  run.records.emplace(std::move(run.files.sink));
  try {
    run.records->append(run.header_line);
  } catch (const harness::record_error& error) {
    std::error_code ignored;
    std::filesystem::remove(run.files.records, ignored);  // a file without a header is nobody's record
    throw harness::input_error(run.files.records.string() + ": " + error.what());
  }
  return run;
}

open_run open_resumed(const run_command_options& options, const nlohmann::ordered_json& header,
                      const std::vector<harness::case_spec>& cases) {
  auto resumed = harness::resume_records(options.resume, header, cases);
  open_run run;
  run.files = std::move(resumed.files);
  run.records.emplace(std::move(run.files.sink), resumed.length_bytes);
  run.header_line = std::move(resumed.header_line);
  run.done = std::move(resumed.done);
  if (options.shown == shown_output::progress) {
    std::cout << "resumed: " << run.done.size() << " of " << cases.size() << " cases are recorded";
    if (resumed.torn_lines != 0) std::cout << "; a torn last line was cut off";
    std::cout << std::endl;
  }
  return run;
}

/// Tells on standard error, and on standard output when that is JSON. False, so that a caller can say that it failed.
bool report_unwritten(const run_command_options& options, const harness::record_error& error) {
  if (options.shown == shown_output::json) {
    std::cout << harness::record_line(harness::error_json(error.what(), std::nullopt)) << std::endl;
  }
  std::cerr << "switchyard: " << error.what() << std::endl;
  return false;
}

bool write_or_report(const run_command_options& options, const std::filesystem::path& path, const std::string& text) {
  try {
    harness::write_file_atomically(path, text);
    return true;
  } catch (const harness::record_error& error) {
    return report_unwritten(options, error);
  }
}

harness::must_pass_evidence evidence_of(const harness::run_summary& summary, const chosen_cases& chosen) {
  harness::must_pass_evidence evidence;
  evidence.selected = chosen.all;
  for (const auto& spec : chosen.cases) {
    evidence.due.push_back(spec.id);
    evidence.statuses.emplace(spec.id, harness::case_status::pass);
  }
  for (const auto& [id, status] : summary.not_passed()) evidence.statuses.insert_or_assign(id, status);
  return evidence;
}

}  // namespace

harness::exit_code run_chosen(const run_command_options& options, const chosen_cases& chosen) {
  const auto started = std::chrono::system_clock::now();
  const auto& cases = chosen.cases;
  const auto where = harness::read_environment();
  if (!options.junit.empty()) require_writable(options.junit);
  install_interrupt_handlers();
  const auto ranks = launch_ranks(options, cases, where);
  if (ranks == nullptr) return harness::exit_code::all_passed;  // rank 0 has the records
  const auto fabric = ranks->fabric();
  const auto header = harness::header_json(
      where, {harness::utc_text(started), options.seed, cases.size(), options.call.arguments, options.common.selection,
              options.part, harness::cases_digest(cases), fabric, ranks->description()});
  auto run = options.resume.empty() ? open_new(options, file_stem(started, options, cases), header)
                                    : open_resumed(options, header, cases);

  harness::progress lines(std::cout, progress_for_stdout(options));
  harness::json_stream stream(std::cout, std::cerr);
  harness::junit_report junit(repeat_command(options), options.seed);
  const bool json = options.shown == shown_output::json;
  harness::failure_collector failures(options.random ? most_small_failures : 0);
  harness::observer_list shown({json ? static_cast<harness::run_observer*>(&stream) : &lines, &junit, &failures});
  if (json) stream.line(run.header_line);
  if (options.shown == shown_output::progress && fabric.kind == fabric_kind::cuda) {
    std::cout << "fabric: " << description_text(fabric) << std::endl;
  }

  const auto run_one = [&](const harness::case_spec& spec) { return ranks->run(spec); };
  auto summary = harness::run_cases(cases, run_one, *run.records, shown,
                                    {options.seed, interrupted, std::move(run.done), options.on_failure});
  summary.set_fabric(fabric.kind);
  for (const auto& list : chosen.must_pass) {
    summary.add_must_pass(list, judge_must_pass(list, evidence_of(summary, chosen)));
  }
  if (options.random) {
    write_small_failures(options, failures, run_one, run.files.records.parent_path(), interrupted);
  }
  if (cases.empty() && options.part) {
    summary.set_empty_shard();
    if (!json) std::cout << empty_shard_text(*options.part, chosen.all.size()) << '\n';
  }

  written_files written{run.files.records, run.files.summary, options.junit};
  const auto summary_json = to_json(summary, options.seed);
  if (!write_or_report(options, written.summary, summary_json.dump(2) + '\n')) written.summary.clear();
  if (!options.junit.empty() && !write_or_report(options, options.junit, junit.text())) written.junit.clear();
  const bool all_written = !written.summary.empty() && written.junit.empty() == options.junit.empty();
  auto code = summary.code();
  // Missing data never passes.
  if (!all_written && code == harness::exit_code::all_passed) code = harness::exit_code::environment;
  if (json) stream.line(harness::record_line(summary_json));
  print_end(std::cout, options, summary, written, code);
  return code;
}

}  // namespace switchyard::tools
