// SPDX-License-Identifier: Apache-2.0
// Who is told what happens in a run: a person's terminal, a stream of JSON, a JUnit file.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

/// A case that has ended, beside its result.
struct case_record {
  enum class origin : std::uint8_t {
    this_run,      ///< it ran now and its line is in the records
    earlier_run,   ///< its line was there when the run was resumed
    not_recorded,  ///< it ran now and its line could not be written: it counts as missing
  };
  std::string line;  ///< of the records, without its newline
  std::chrono::nanoseconds elapsed{0};
  origin from = origin::this_run;
};

/// Calls come from one thread, in the order of the run: begin, then for each case case_started (when it runs now) and
/// case_ended, then case_missing for those that have no record, then end.
class run_observer {
 public:
  run_observer() = default;
  virtual ~run_observer() = default;
  run_observer(const run_observer&) = delete;
  run_observer& operator=(const run_observer&) = delete;

  virtual void begin(std::size_t total_cases) { static_cast<void>(total_cases); }
  virtual void case_started(const case_spec& spec) { static_cast<void>(spec); }
  virtual void case_ended(const case_spec& spec, const case_result& result, const case_record& record) = 0;
  virtual void case_missing(const case_spec& spec) { static_cast<void>(spec); }
  /// Why the run ends early.
  virtual void note(const std::string& line) { static_cast<void>(line); }
  virtual void end() {}
};

/// Tells several. Does not own them.
class observer_list final : public run_observer {
 public:
  explicit observer_list(std::vector<run_observer*> all) : all_(std::move(all)) {}

  void begin(std::size_t total_cases) override {
    for (auto* one : all_) one->begin(total_cases);
  }
  void case_started(const case_spec& spec) override {
    for (auto* one : all_) one->case_started(spec);
  }
  void case_ended(const case_spec& spec, const case_result& result, const case_record& record) override {
    for (auto* one : all_) one->case_ended(spec, result, record);
  }
  void case_missing(const case_spec& spec) override {
    for (auto* one : all_) one->case_missing(spec);
  }
  void note(const std::string& line) override {
    for (auto* one : all_) one->note(line);
  }
  void end() override {
    for (auto* one : all_) one->end();
  }

 private:
  std::vector<run_observer*> all_;
};

}  // namespace switchyard::harness
