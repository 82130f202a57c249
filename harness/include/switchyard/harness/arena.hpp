// SPDX-License-Identifier: Apache-2.0
// One block of memory that all cases of a run reuse, so that a long suite needs no more than its largest case and pays
// for fresh pages once.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <mutex>

namespace switchyard::harness {

/// Bytes of a page of this machine, from the system.
std::size_t page_bytes() noexcept;

/// Bump allocation out of one anonymous mapping; reset() takes everything back at once. Thread-safe, because the
/// ranks of a case allocate their workspaces concurrently. Pages are touched only when used.
class arena final : public std::pmr::memory_resource {
 public:
  /// Throws switchyard::out_of_memory when the mapping cannot be had.
  explicit arena(std::size_t bytes);
  ~arena() override;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t used() const noexcept;
  [[nodiscard]] std::size_t peak() const noexcept;  ///< highest used() ever
  /// Precondition: nothing allocated from the arena is in use.
  void reset() noexcept;
  /// As reset(), for when a thread that cannot be stopped may still touch the memory: the mapping is left to that
  /// thread for the life of the process and a fresh one of the same size takes its place.
  /// Throws switchyard::out_of_memory when the new mapping cannot be had; the arena is then empty and full at once.
  void abandon();

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;  // throws std::bad_alloc when full
  void do_deallocate(void*, std::size_t, std::size_t) override {}        // reset() frees
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace switchyard::harness
