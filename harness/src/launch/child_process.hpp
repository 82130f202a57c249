// SPDX-License-Identifier: Apache-2.0
// A process that this program starts of itself, for one rank. It dies with the process that has started it, however
// that dies, and what it prints comes out here with the rank's number in front.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "system/unique_descriptor.hpp"

namespace switchyard::harness {

/// Which program, and what its processes get.
struct program_call {
  std::string path;                    ///< of the file
  std::vector<std::string> arguments;  ///< with the name of the program first
};

/// Which rank, and where it is among those of its host.
struct child_place {
  int rank = 0;
  int local_rank = 0;
  int local_size = 1;
};

/// This program, as it was called. Throws channel_error where the system does not tell.
program_call this_program();

class child_process {
 public:
  /// Started by the caller's thread, at whose end the child is killed, too. Throws channel_error.
  child_process(const program_call& program, const child_place& place);
  /// As kill(), within some seconds.
  ~child_process();
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  /// This side of the socket that the child has; to be taken once.
  [[nodiscard]] unique_descriptor take_control() { return std::move(control_); }
  /// Of what it prints, to poll; -1 behind its end.
  [[nodiscard]] int output() const noexcept { return output_.get(); }
  /// Passes on whole lines that it has printed, but no more than it takes to look after others as well.
  void pass_output();
  /// The last line that was passed on.
  [[nodiscard]] const std::string& last_line() const noexcept { return last_line_; }

  /// Looks whether it has ended. How: "exited with 3", "was killed by signal 9 (Killed)".
  std::optional<std::string> look_for_end();
  [[nodiscard]] bool is_stopped() const;
  /// Ends it, and waits for nothing.
  void doom() const;
  /// Ends it, and returns when it is gone, or at the limit; then it is left behind, and a line says so.
  void kill(std::chrono::steady_clock::time_point limit);

 private:
  void print(const std::string& line);
  [[nodiscard]] bool is_gone();

  int rank_;       // as it is called in what is passed on
  pid_t id_ = -1;  // -1: it has ended and is forgotten
  unique_descriptor control_;
  unique_descriptor output_;
  std::string begun_line_;
  std::string last_line_;
  std::optional<std::string> end_;
};

}  // namespace switchyard::harness
