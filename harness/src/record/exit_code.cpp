// SPDX-License-Identifier: Apache-2.0
// From a run's outcome to the program's exit code.
#include "switchyard/harness/exit_code.hpp"

namespace switchyard::harness {

exit_code exit_code_of(const run_outcome& outcome) noexcept {
  const auto any = [&outcome](case_status status) { return outcome.count(status) != 0; };
  const bool failed = any(case_status::fail) || any(case_status::crash) || any(case_status::timeout) ||
                      any(case_status::device_lost) || any(case_status::missing) || outcome.shortfalls != 0;
  if (outcome.internal_error) return exit_code::internal_error;
  if (failed) return exit_code::failed;
  if (outcome.environment_lacking || (!any(case_status::pass) && !outcome.empty_shard)) return exit_code::environment;
  if (outcome.regressed) return exit_code::regressed;
  if (outcome.inconclusive) return exit_code::inconclusive;
  return exit_code::all_passed;
}

std::string_view to_string(exit_code code) noexcept {
  switch (code) {
    case exit_code::all_passed: return "all_passed";
    case exit_code::regressed: return "regressed";
    case exit_code::failed: return "failed";
    case exit_code::environment: return "environment";
    case exit_code::inconclusive: return "inconclusive";
    case exit_code::bad_input: return "bad_input";
    case exit_code::internal_error: return "internal_error";
  }
  return "unknown";
}

std::string_view meaning(exit_code code) noexcept {
  switch (code) {
    case exit_code::all_passed: return "all cases passed";
    case exit_code::regressed: return "a performance regression";
    case exit_code::failed: return "a case failed, crashed, timed out, lost its device or is missing";
    case exit_code::environment: return "something required is absent, or no case passed";
    case exit_code::inconclusive: return "no verdict on performance: too few launches or too much noise";
    case exit_code::bad_input: return "usage or input error; no case was run";
    case exit_code::internal_error: return "internal error of this program";
  }
  return "unknown";
}

}  // namespace switchyard::harness
