// SPDX-License-Identifier: Apache-2.0
// Verdicts and samples in the words of other tools. Each is a whole file as a text.
#pragma once

#include <string>

#include "switchyard/harness/gate/sample_set.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {

/// JUnit XML: a case a scenario. Regressed and failed are failures; missing and inconclusive are errors, for a reader
/// that knows no more than JUnit must not take them for passes; waived are skipped.
std::string junit_of(const gate_result& result);

/// Comma-separated values as RFC 4180 says, a header line first; what does not apply is empty.
std::string csv_of(const gate_result& result);

/// OpenMetrics 1.0 text: medians in seconds, shifts as ratios, verdicts as a state set.
std::string openmetrics_of(const gate_result& result);

/// JSON as Google Benchmark writes it: each launch is a repetition, so that its own compare.py takes the same test.
std::string google_benchmark_of(const sample_set& samples);
/// CSV of the samples themselves: scenario, launch, time.
std::string csv_of(const sample_set& samples);

}  // namespace switchyard::harness::gate
