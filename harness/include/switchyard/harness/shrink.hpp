// SPDX-License-Identifier: Apache-2.0
// Makes a failing case small: fewer settings, smaller numbers, as long as it still fails.
//
// The search is greedy. It drops settings, many at once and then one by one, and lowers numbers, first to the least
// value, then by halving the distance, alone and together with those that are equal to them; it goes round until
// nothing more can be lowered or the runs are used up. Candidates that break a rule cost no run. The result is minimal
// only in that none of these single changes makes it smaller.
//
// A failure that comes and goes: the case is run a few times first; when it does not fail each time, every candidate is
// run as often before it is called good. The result then fails as seldom as its parts allow, and says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

/// Whether a case still fails in the way that is looked for.
using failure_test = std::function<bool(const case_spec&)>;

struct shrink_options {
  std::size_t max_runs = 300;                 ///< calls of the test, all told
  int attempts = 3;                           ///< runs of the case at first, and of each candidate when it is flaky
  std::function<bool()> stop_requested = {};  ///< asked before each run; what has been reached is the result
};

struct shrunk_case {
  field_settings settings;
  case_spec spec;  ///< of random_suite(), so that its id says everything
  std::size_t runs = 0;
  int failed_attempts = 0;  ///< of the first runs; none: it never failed again, and nothing was shrunk
  int attempts = 0;
};

/// Precondition: random_case_of(settings) is a case.
shrunk_case shrink(const field_settings& settings, const failure_test& still_fails, const shrink_options& options = {});

/// What a failure is by its kind, equal for equal failures: status, verdict of the first finding, code of the first
/// fault. Empty for a case that passed, or did not run to its end.
std::string failure_kind(const case_result& result);

/// A whole scenario file with one scenario that sets exactly `settings`: <suite>.json, which read_suite_file accepts.
/// Preconditions: `suite` is a word of a-z, 0-9 and _; `sentence` is not empty.
std::string scenario_file_text(const field_settings& settings, std::string_view suite, std::string_view sentence);

}  // namespace switchyard::harness
