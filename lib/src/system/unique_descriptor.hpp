// SPDX-License-Identifier: Apache-2.0
// A file descriptor that has one owner, who closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace switchyard {

class unique_descriptor {
 public:
  unique_descriptor() = default;
  explicit unique_descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  unique_descriptor(unique_descriptor&& other) noexcept : descriptor_(other.release()) {}
  unique_descriptor& operator=(unique_descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  unique_descriptor(const unique_descriptor&) = delete;
  unique_descriptor& operator=(const unique_descriptor&) = delete;
  ~unique_descriptor() {
    // Also after EINTR it is closed, on Linux, and its number may be somebody else's.
    if (descriptor_ >= 0) (void)::close(descriptor_);
  }

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  [[nodiscard]] int release() noexcept { return std::exchange(descriptor_, -1); }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

}  // namespace switchyard
