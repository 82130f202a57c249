// SPDX-License-Identifier: Apache-2.0
// A workspace's bytes in CPU memory, kept alive by everyone who may still store into them.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <optional>

#include "fabric/host/segment_window.hpp"

namespace switchyard::host {

class host_memory {
 public:
  /// `bytes` from `resource`, or fresh pages of the system when it is null. Contents undefined.
  /// Throws switchyard::out_of_memory.
  host_memory(std::size_t bytes, std::pmr::memory_resource* resource);
  ~host_memory();
  host_memory(const host_memory&) = delete;
  host_memory& operator=(const host_memory&) = delete;

  /// Gives the pages back and keeps the addresses, which nobody may touch until back_again(). What a resource has given
  /// stays, because there is no way to ask it for the same addresses. Idempotent. Throws out_of_memory.
  void release();
  /// Pages behind the addresses, contents undefined. Idempotent. Throws out_of_memory.
  void back_again();

  /// Where other memory may be shown. Null for what a resource has given.
  [[nodiscard]] segment_window* window() noexcept { return window_ ? &*window_ : nullptr; }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::size_t bytes_ = 0;
  std::pmr::memory_resource* resource_ = nullptr;
  std::optional<segment_window> window_;
  std::byte* data_ = nullptr;
  bool released_ = false;
};

}  // namespace switchyard::host
