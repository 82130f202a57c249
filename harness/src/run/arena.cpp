// SPDX-License-Identifier: Apache-2.0
// The arena's mapping and its bump pointer.
#include "switchyard/harness/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

std::byte* map_pages(std::size_t bytes) {
  // No reservation of swap: a suite's largest case may never be run, and untouched pages should cost nothing.
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    throw out_of_memory("arena: a mapping of " + std::to_string(bytes) + " bytes cannot be had");
  }
  return static_cast<std::byte*>(pages);
}

}  // namespace

std::size_t page_bytes() noexcept {
  const long bytes = ::sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 4096;
}

arena::arena(std::size_t bytes) {
  const std::size_t page = page_bytes();
  if (bytes > static_cast<std::size_t>(-1) - page) {
    throw out_of_memory("arena: " + std::to_string(bytes) + " bytes are more than an address can count");
  }
  const std::size_t rounded = std::max(page, (bytes + page - 1) / page * page);
  base_ = map_pages(rounded);
  bytes_ = rounded;
}

arena::~arena() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

std::size_t arena::used() const noexcept {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::size_t arena::peak() const noexcept {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void arena::reset() noexcept {
  const std::lock_guard lock(mutex_);
  used_ = 0;
}

void arena::abandon() {
  const std::lock_guard lock(mutex_);
  const std::size_t wanted = bytes_;
  base_ = nullptr;
  bytes_ = 0;
  used_ = 0;
  base_ = map_pages(wanted);
  bytes_ = wanted;
}

void* arena::do_allocate(std::size_t bytes, std::size_t alignment) {
  const std::lock_guard lock(mutex_);
  // The mapping starts at a page, so offsets are aligned as addresses are, up to a page.
  if (alignment > page_bytes()) throw std::bad_alloc();
  const std::size_t start = (used_ + alignment - 1) / alignment * alignment;
  if (start > bytes_ || bytes > bytes_ - start) throw std::bad_alloc();
  used_ = start + bytes;
  peak_ = std::max(peak_, used_);
  return base_ + start;
}

}  // namespace switchyard::harness
