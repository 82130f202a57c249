// SPDX-License-Identifier: Apache-2.0
// bench --launches: the bench as a row of processes, of this build alone or in turns with another.
#pragma once

#include <string>

#include "bench_arguments.hpp"
#include "switchyard/harness/exit_code.hpp"

namespace CLI {
class App;
}

namespace switchyard::tools {

struct launch_arguments {
  std::string launches = "0";  ///< of each side; 0: the bench runs in this process
  std::string program;         ///< the build to be measured; empty: this one
  std::string against;         ///< the build to be compared with; empty: none
  std::string against_out;     ///< its samples
  bool aa = false;             ///< against itself: the noise
  std::string noise;           ///< samples of A/A launches
  std::string reruns = "2";    ///< rounds more at most, of what is inconclusive
};

void add_launch_options(CLI::App& command, launch_arguments& into);
/// Throws input_error for options that do not go together.
void require_launch_options(const CLI::App& command, const launch_arguments& launch, const bench_arguments& bench);

/// How many launches of each side; 0: the bench runs in this process. Throws input_error.
int read_launches(const launch_arguments& arguments);

/// Launches, writes samples to --out and --against-out, prints noise or verdicts.
harness::exit_code bench_by_launches(const launch_arguments& launch, const bench_arguments& bench,
                                     const harness::bench_options& options);

}  // namespace switchyard::tools
