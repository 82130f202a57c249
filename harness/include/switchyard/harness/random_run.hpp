// SPDX-License-Identifier: Apache-2.0
// Runs drawn cases like the cases of a suite, then makes the first failures small and writes them as scenario files.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "switchyard/harness/progress.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/shrink.hpp"
#include "switchyard/harness/suite_runner.hpp"
#include "switchyard/harness/summary.hpp"

namespace switchyard::harness {

struct random_run_options {
  std::uint64_t seed = 1;   ///< of the draws, and of the runner that is passed
  std::uint64_t count = 0;  ///< cases 0 .. count - 1 of the seed
  random_limits limits = {};
  std::size_t max_shrunk = 3;                 ///< failures that are made small; the first ones
  std::size_t max_shrink_runs = 300;          ///< of one failure
  std::chrono::seconds shrink_time{120};      ///< for one failure; a case that hangs takes its deadline each time
  std::function<bool()> stop_requested = {};  ///< asked before each case and each run of the shrinker
};

/// A failure, small.
struct shrunk_failure {
  std::string drawn_id;
  std::string kind;  ///< failure_kind() of the drawn case, and of the small one
  shrunk_case small;
  std::string file_name;  ///< shrunk_<seed>_<number of the draw>.json
  std::string file_text;  ///< a whole scenario file; it fails with the seed of the run
};

struct random_run {
  run_summary summary;
  std::vector<shrunk_failure> shrunk;
  std::size_t not_shrunk = 0;  ///< failures beyond max_shrunk
};

/// Draws, runs and records; the caller has written the header of the records, with `count` cases in it. `run` needs an
/// arena of limits.max_bytes: it may throw out_of_memory for cases above that while a failure is shrunk, and they are
/// passed over. Throws input_error when no case fits the limits.
random_run run_random(const random_run_options& options, const case_runner& run, record_writer& records,
                      progress& shown);

/// What a person is told about a small failure: how it fails, how surely, its id, and where the file goes.
std::string describe(const shrunk_failure& failure);

}  // namespace switchyard::harness
