// SPDX-License-Identifier: Apache-2.0
// A meeting point that can be called off.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

namespace switchyard::harness {

/// It ends once, by everybody's arrival or by being called off, and every answer is that of its end.
class meeting {
 public:
  /// Blocks until it has ended. Whether all have come and were well.
  bool wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return end_.has_value(); });
    return *end_;
  }
  /// The first end counts.
  void end(bool all_came_and_were_well) {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = all_came_and_were_well;
    changed_.notify_all();
  }
  [[nodiscard]] bool has_ended() const {
    const std::lock_guard lock(mutex_);
    return end_.has_value();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bool> end_;
};

}  // namespace switchyard::harness
