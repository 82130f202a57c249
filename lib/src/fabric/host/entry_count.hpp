// SPDX-License-Identifier: Apache-2.0
// Who is in a place that somebody wants to see empty after it has been closed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace switchyard::host {

/// Visitors look whether the place is closed once they have entered; whoever has closed it waits until it is empty.
/// Then nobody is inside who has not seen that it is closed. Visitors order nothing among themselves by it: they are
/// blocks of a protocol that must not come to rest on a lock of ours, which a race detector would take for its own.
class entry_count {
 public:
  class visit {
   public:
    explicit visit(entry_count& place) : place_(place) {
      // Pairs with the read-modify-write in is_empty: this one comes before it, and is waited for, or behind it, and
      // acquires what closed the place.
      place_.entered_.fetch_add(1, std::memory_order_acquire);
    }
    ~visit() { place_.left_.fetch_add(1, std::memory_order_release); }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;

   private:
    entry_count& place_;
  };

  /// Whether the place was empty before the deadline. What visitors did happens before the return then.
  bool wait_empty_until(std::chrono::steady_clock::time_point deadline);

 private:
  [[nodiscard]] bool is_empty() {
    const auto left = left_.load(std::memory_order_acquire);  // first: nobody leaves who has not entered
    return entered_.fetch_add(0, std::memory_order_acq_rel) == left;
  }

  std::atomic<std::uint64_t> entered_{0};
  std::atomic<std::uint64_t> left_{0};
};

}  // namespace switchyard::host
