// SPDX-License-Identifier: Apache-2.0
// Runs cases one after another and keeps the books. How a case is run is a parameter.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/progress.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/summary.hpp"

namespace switchyard::harness {

using case_runner = std::function<case_result(const case_spec&)>;

struct suite_run_options {
  std::uint64_t seed = 1;                ///< goes into the records; the runner has it already
  std::function<bool()> stop_requested;  ///< asked before each case; the rest is then missing
};

/// Runs every case, writes its record, shows progress. A runner that throws is an internal error: the case counts as a
/// crash and the run goes on. When a record cannot be written the run ends: that case and the rest are missing.
run_summary run_cases(const std::vector<case_spec>& cases, const case_runner& run, record_writer& records,
                      progress& shown, const suite_run_options& options);

}  // namespace switchyard::harness
