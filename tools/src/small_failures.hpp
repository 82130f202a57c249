// SPDX-License-Identifier: Apache-2.0
// The end of a run of drawn cases: scenario files of its first failures.
#pragma once

#include <cstddef>
#include <filesystem>

#include "run_options.hpp"
#include "switchyard/harness/random_run.hpp"
#include "switchyard/harness/suite_runner.hpp"

namespace switchyard::tools {

inline constexpr std::size_t most_small_failures = 3;  ///< of a run; the same bug is behind most of the others

/// Makes the failures small, writes them into `folder` and tells about it, on standard error when standard output is
/// JSON. `stop_requested` ends it early. A file that cannot be written is told as well, with its text.
void write_small_failures(const run_command_options& options, const harness::failure_collector& found,
                          const harness::case_runner& run, const std::filesystem::path& folder,
                          const std::function<bool()>& stop_requested);

}  // namespace switchyard::tools
