// SPDX-License-Identifier: Apache-2.0
// Waiting for several descriptors at once.
#pragma once

#include <poll.h>

#include <functional>
#include <vector>

#include "comm/deadline.hpp"

namespace switchyard::comm {

class poll_set {
 public:
  /// `serve` is called by wait() when `events` (of poll) or an error are there. It may end what it was given for, but
  /// nothing that another one was given for.
  void watch(int descriptor, short events, std::function<void()> serve);
  /// wait() returns after `pause` at the latest.
  void wake_after(std::chrono::nanoseconds pause);
  /// Waits until something is there, and serves it; returns when nothing is there at the deadline, or after a signal.
  void wait(const deadline& until);

 private:
  std::vector<pollfd> descriptors_;
  std::vector<std::function<void()>> servers_;
  std::chrono::nanoseconds pause_ = std::chrono::nanoseconds::max();
};

}  // namespace switchyard::comm
