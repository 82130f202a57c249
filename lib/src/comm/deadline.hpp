// SPDX-License-Identifier: Apache-2.0
// Until when a call may wait.
#pragma once

#include <algorithm>
#include <chrono>

namespace switchyard::comm {

class deadline {
 public:
  using clock = std::chrono::steady_clock;

  /// From now on; a timeout that the clock cannot hold is cut to what it can.
  explicit deadline(std::chrono::nanoseconds timeout)
      : timeout_(std::max<std::chrono::nanoseconds>(timeout, std::chrono::nanoseconds(0))),
        end_(clock::now() + std::min<std::chrono::nanoseconds>(timeout_, clock::time_point::max() - clock::now())) {}

  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }
  [[nodiscard]] std::chrono::nanoseconds remaining() const {
    return std::max<std::chrono::nanoseconds>(end_ - clock::now(), std::chrono::nanoseconds(0));
  }
  [[nodiscard]] bool has_passed() const { return clock::now() >= end_; }
  /// This one, or earlier: in `timeout` from now.
  [[nodiscard]] deadline sooner(std::chrono::nanoseconds timeout) const {
    return deadline(std::min(timeout, remaining()));
  }

 private:
  std::chrono::nanoseconds timeout_;
  clock::time_point end_;
};

}  // namespace switchyard::comm
