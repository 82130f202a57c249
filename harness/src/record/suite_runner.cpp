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
case_result run_guarded(const case_spec& spec, const case_runner& run) {
  std::string what = "an exception of unknown type";
  try {
    return run(spec);
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {  // the case is booked below all the same
  }
  case_result result;
  result.status = case_status::crash;
  result.reason = std::string(internal_error_prefix) + what;
  return result;
}

/// One run over its cases.
class runner {
 public:
  runner(const std::vector<case_spec>& cases, const case_runner& run, record_writer& records, run_observer& shown,
         const suite_run_options& options)
      : cases_(cases), run_(run), records_(records), shown_(shown), options_(options) {}

  run_summary run() {
    shown_.begin(cases_.size());
    for (const auto& spec : cases_) {
      const auto found = options_.done.find(spec.id);
      if (found != options_.done.end()) {
        const auto& recorded = found->second;
        shown_.case_ended(spec, recorded.result, {recorded.line, recorded.elapsed, case_record::origin::earlier_run});
        book(spec, recorded.result);
      } else if (stopped_ || !run_one(spec)) {
        stopped_ = true;
        missing_.push_back(&spec);
      }
    }
    if (!why_.empty()) shown_.note(why_ + ": " + count_text());
    for (const auto* spec : missing_) {
      summary_.add_missing(*spec);
      shown_.case_missing(*spec);
    }
    shown_.end();
    return std::move(summary_);
  }

 private:
  /// False when the run ends and the case has no record.
  bool run_one(const case_spec& spec) {
    if (options_.stop_requested && options_.stop_requested()) return end_because("stopped");
    if (options_.on_failure == after_failure::stop && has_failed()) return end_because("ended at the first failure");
    shown_.case_started(spec);
    const auto begin = std::chrono::steady_clock::now();
    const auto result = run_guarded(spec, run_);
    const auto elapsed = std::chrono::steady_clock::now() - begin;
    if (result.status == case_status::missing) return end_because("stopped");
    case_record record{record_line(case_json(spec, result, options_.seed, elapsed)), elapsed};
    try {
      records_.append(record.line);
    } catch (const record_error& error) {
      record.from = case_record::origin::not_recorded;
      shown_.case_ended(spec, result, record);  // what it found must not be lost as well
      return end_because(error.what());
    }
    shown_.case_ended(spec, result, record);
    book(spec, result);
    return true;
  }

  bool end_because(std::string why) {
    why_ = std::move(why);
    return false;
  }

  [[nodiscard]] bool has_failed() const {
    return summary_.code() == exit_code::failed || summary_.code() == exit_code::internal_error;
  }

  void book(const case_spec& spec, const case_result& result) {
    summary_.add(spec, result);
    if (result.status == case_status::crash && result.reason.starts_with(internal_error_prefix)) {
      summary_.set_internal_error();
    }
  }

  [[nodiscard]] std::string count_text() const {
    if (missing_.size() == 1) return "1 case has no record and counts as missing";
    return std::to_string(missing_.size()) + " cases have no record and count as missing";
  }

  const std::vector<case_spec>& cases_;
  const case_runner& run_;
  record_writer& records_;
  run_observer& shown_;
  const suite_run_options& options_;
  run_summary summary_;
  std::vector<const case_spec*> missing_;
  std::string why_;
  bool stopped_ = false;
};

}  // namespace

run_summary run_cases(const std::vector<case_spec>& cases, const case_runner& run, record_writer& records,
                      run_observer& shown, const suite_run_options& options) {
  return runner(cases, run, records, shown, options).run();
}

}  // namespace switchyard::harness
