// SPDX-License-Identifier: Apache-2.0
// The loop over the cases of a run.
#include "switchyard/harness/suite_runner.hpp"

#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>

#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {
namespace {

/// Cases report failures in their result; an exception here means that the harness is wrong, and says so.
case_result run_guarded(const case_spec& spec, const case_runner& run, run_summary& summary) {
  std::string what = "an exception of unknown type";
  try {
    return run(spec);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {  // the case is booked below all the same
  }
  summary.set_internal_error();
  case_result result;
  result.status = case_status::crash;
  result.reason = "internal error: " + what;
  return result;
}

}  // namespace

run_summary run_cases(const std::vector<case_spec>& cases, const case_runner& run, record_writer& records,
                      progress& shown, const suite_run_options& options) {
  run_summary summary;
  shown.begin(cases.size());
  std::size_t next = 0;
  for (; next < cases.size(); ++next) {
    if (options.stop_requested && options.stop_requested()) {
      shown.note("stopped: " + std::to_string(cases.size() - next) + " cases were not run and count as missing");
      break;
    }
    const auto& spec = cases[next];
    shown.case_started(spec);
    const auto begin = std::chrono::steady_clock::now();
    const auto result = run_guarded(spec, run, summary);
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    shown.case_ended(spec, result);
    try {
      records.append(record_line(case_json(spec, result, options.seed, elapsed)));
    } catch (const record_error& error) {
      shown.note(std::string(error.what()) + "; this case and the rest count as missing");
      break;
    }
    summary.add(spec, result);
  }
  for (; next < cases.size(); ++next) summary.add_missing(cases[next]);
  shown.end();
  return summary;
}

}  // namespace switchyard::harness
