// SPDX-License-Identifier: Apache-2.0
// A run as JUnit XML: the form that CI servers show. One testsuite per scenario, one testcase per case.
//
//   fail, timeout                  failure: reason, findings and faults
//   crash, device_lost, missing    error
//   skipped, waived                skipped
//
// Every testcase has the line that repeats it in system-out. Times are those of the whole case, in seconds.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/harness/run_observer.hpp"

namespace switchyard::harness {

class junit_report final : public run_observer {
 public:
  /// `repeat_command` stands before --case in the line that repeats a case.
  junit_report(std::string repeat_command, std::uint64_t seed)
      : repeat_command_(std::move(repeat_command)), seed_(seed) {}

  void case_ended(const case_spec& spec, const case_result& result, const case_record& record) override;
  void case_missing(const case_spec& spec) override;

  /// The whole document: UTF-8, whatever the texts in it were made of.
  [[nodiscard]] std::string text() const;

 private:
  struct testcase {
    std::string id;
    case_status status = case_status::pass;
    std::string reason;
    std::string details;
    std::chrono::nanoseconds elapsed{0};
  };
  struct testsuite {
    std::string suite;
    std::string scenario;
    std::vector<testcase> cases;
  };

  void add(const case_spec& spec, testcase one);
  void write(std::string& out, const testsuite& suite, const testcase& one) const;

  std::string repeat_command_;
  std::uint64_t seed_;
  std::vector<testsuite> suites_;
};

/// `text` as XML 1.0 content or attribute value: markup escaped, line ends and tabs in a form that survives in an
/// attribute, characters that XML does not allow removed, bytes that are not UTF-8 replaced by U+FFFD.
std::string xml_escaped(std::string_view text);

}  // namespace switchyard::harness
