// SPDX-License-Identifier: Apache-2.0
// What `switchyard run` prints besides its progress.
#pragma once

#include <ostream>
#include <string>

#include "run_options.hpp"
#include "switchyard/harness/progress.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/summary.hpp"

namespace switchyard::tools {

/// `text` as one word of a POSIX shell.
std::string shell_word(const std::string& text);

/// The command that repeats a case, up to --case: it must find the same scenario file, and a suite given by its path is
/// not in the folder.
std::string repeat_command(const run_command_options& options);

/// The command that goes on with `records`.
std::string resume_command(const invocation& call, const std::filesystem::path& records);

/// Progress for the terminal or file that standard output is.
harness::progress_options progress_for_stdout(const run_command_options& options);

/// Which files a run has written; an empty name stands for one that could not be.
struct written_files {
  std::filesystem::path records;
  std::filesystem::path summary;
  std::filesystem::path junit;
};

/// What the run came to, for people: a table, or one line when the run is quiet. Nothing for JSON.
void print_end(std::ostream& out, const run_command_options& options, const harness::run_summary& summary,
               const written_files& files, harness::exit_code code);

}  // namespace switchyard::tools
