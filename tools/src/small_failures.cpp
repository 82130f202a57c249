// SPDX-License-Identifier: Apache-2.0
// The end of a run of drawn cases.
#include "small_failures.hpp"

#include <iostream>

#include "run_output.hpp"
#include "switchyard/harness/record_writer.hpp"

namespace switchyard::tools {

void write_small_failures(const run_command_options& options, const harness::failure_collector& found,
                          const harness::case_runner& run, const std::filesystem::path& folder,
                          const std::function<bool()>& stop_requested) {
  auto& out = options.shown == shown_output::json ? std::cerr : std::cout;
  harness::make_small_options how;
  how.seed = options.seed;
  how.stop_requested = stop_requested;
  for (const auto& failure : found.first()) {
    if (stop_requested()) break;
    const auto small = harness::make_small(failure, run, how);
    out << describe(small) << '\n';
    if (small.small.failed_attempts == 0) continue;  // the line that repeats the drawn case has been printed
    const auto path = folder / small.file_name;
    try {
      harness::write_file_atomically(path, small.file_text);
    } catch (const harness::record_error& error) {
      out << "  " << error.what() << "; its text is\n" << small.file_text;
      continue;
    }
    out << "  repeat it: " << shell_word(options.call.program) << " run " << shell_word(path.string()) << " --seed "
        << options.seed << '\n';
  }
  if (found.total() > found.first().size()) {
    out << "made small: the first " << found.first().size() << " of " << found.total() << " failures\n";
  }
  out << std::flush;
}

}  // namespace switchyard::tools
