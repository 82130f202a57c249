// SPDX-License-Identifier: Apache-2.0
// Runs cases one after another and keeps the books. How a case is run is a parameter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/recorded_case.hpp"
#include "switchyard/harness/run_observer.hpp"
#include "switchyard/harness/summary.hpp"

namespace switchyard::harness {

using case_runner = std::function<case_result(const case_spec&)>;

/// Starts the reason of a case whose runner threw, also in records.
inline constexpr std::string_view internal_error_prefix = "internal error: ";

enum class after_failure : std::uint8_t { go_on, stop };

struct suite_run_options {
  std::uint64_t seed = 1;                     ///< goes into the records; the runner has it already
  std::function<bool()> stop_requested;       ///< asked before each case; the rest is then missing
  std::map<std::string, recorded_case> done;  ///< by id: recorded by an earlier run, counted and not run again
  after_failure on_failure = after_failure::go_on;
};

/// Runs every case, writes its record, tells `shown`. A runner that throws is an internal error: the case counts as a
/// crash and the run goes on. A runner that returns `missing` was stopped inside its case: the run ends, and neither
/// that case nor the rest is recorded. When a record cannot be written the run ends in the same way.
run_summary run_cases(const std::vector<case_spec>& cases, const case_runner& run, record_writer& records,
                      run_observer& shown, const suite_run_options& options);

}  // namespace switchyard::harness
