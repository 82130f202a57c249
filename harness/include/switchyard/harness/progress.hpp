// SPDX-License-Identifier: Apache-2.0
// What a person sees while a run goes on: one line that is rewritten on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>

#include "switchyard/harness/run_observer.hpp"

namespace switchyard::harness {

struct progress_options {
  enum class style : std::uint8_t {
    terminal,  ///< one line, rewritten
    plain,     ///< a line now and then
    quiet,     ///< nothing but what went wrong
  };
  style how = style::plain;
  std::size_t columns = 80;                       ///< of the terminal
  std::string repeat_command = "switchyard run";  ///< what stands before --case in the line that repeats a case
  std::uint64_t seed = 1;
};

class progress final : public run_observer {
 public:
  progress(std::ostream& out, progress_options options) : out_(out), options_(std::move(options)) {}

  void begin(std::size_t total_cases) override;
  void case_started(const case_spec& spec) override;
  /// Prints a case that did not pass at once: status, reason, every finding, every fault, and how to repeat it.
  void case_ended(const case_spec& spec, const case_result& result, const case_record& record) override;
  /// A line of its own between the others.
  void note(const std::string& line) override;
  void end() override;

 private:
  void show(const std::string& current);
  void clear_line();
  void print_failure(const case_spec& spec, const case_result& result);
  [[nodiscard]] std::string done_text() const;
  [[nodiscard]] std::string remaining_text() const;

  std::ostream& out_;
  progress_options options_;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t done_before_ = 0;  ///< of them, in an earlier run
  std::size_t failures_ = 0;
  std::size_t next_plain_line_ = 0;  ///< how many cases must be done before the next line of plain progress
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point started_{};
};

}  // namespace switchyard::harness
