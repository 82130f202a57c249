// SPDX-License-Identifier: Apache-2.0
// A supervisor's hold on the process of one rank: what it says, whether it lives, and its end.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::harness {

class rank_link {
 public:
  rank_link() = default;
  virtual ~rank_link() = default;
  rank_link(const rank_link&) = delete;
  rank_link& operator=(const rank_link&) = delete;

  /// Starts a process; what an earlier one has left unsaid is forgotten. Throws channel_error.
  virtual void start() = 0;
  /// Whether there is one that has not ended.
  [[nodiscard]] virtual bool lives() const = 0;
  /// How the last one ended, when it was not by kill(): "was killed by signal 11 (Segmentation fault)".
  [[nodiscard]] virtual const std::string& end() const = 0;
  /// Whether it is there but does not run, by SIGSTOP or a debugger.
  [[nodiscard]] virtual bool is_stopped() const = 0;
  /// What it has printed last, for whoever asks why it ended; one line, or empty.
  [[nodiscard]] virtual std::string last_words() const = 0;

  /// To poll for reading; when one is readable, look() has something to do.
  [[nodiscard]] virtual std::vector<int> descriptors() const = 0;
  /// Messages that have come; notes an end, passes on what was printed. Waits for nothing, never throws.
  virtual std::vector<nlohmann::json> look() = 0;
  /// What cannot be sent is the end of the process.
  virtual void send(const nlohmann::json& message) = 0;
  /// Has it ended at once, and waits for nothing.
  virtual void doom() = 0;
  /// The same, and returns when it is gone, or at the limit: one that the system does not let go, in a driver for
  /// example, is left behind. Idempotent.
  virtual void kill(std::chrono::steady_clock::time_point limit) = 0;
};

}  // namespace switchyard::harness
