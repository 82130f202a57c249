// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::host {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

[[noreturn]] void fail(std::size_t bytes) {
  throw out_of_memory("workspace: " + std::to_string(bytes) + " bytes of host memory could not be had");
}

}  // namespace

host_memory::host_memory(std::size_t bytes, std::pmr::memory_resource* resource) : bytes_(bytes), resource_(resource) {
  if (resource_ != nullptr) {
    try {
      data_ = static_cast<std::byte*>(resource_->allocate(bytes_, page_bytes()));
    } catch (const std::bad_alloc&) {
      fail(bytes_);
    }
    return;
  }
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) fail(bytes_);
  data_ = static_cast<std::byte*>(mapped);
}

host_memory::~host_memory() {
  if (resource_ != nullptr) {
    resource_->deallocate(data_, bytes_, page_bytes());
  } else {
    munmap(data_, bytes_);
  }
}

void host_memory::release() {
  if (resource_ != nullptr || released_) return;
  // Other pages in the same place, none of which may be touched: the system lets go of those that were there.
  constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(data_, bytes_, PROT_NONE, how, -1, 0) == MAP_FAILED) fail(bytes_);
  released_ = true;
}

void host_memory::back_again() {
  if (!released_) return;
  constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mmap(data_, bytes_, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) fail(bytes_);
  released_ = false;
}

}  // namespace switchyard::host
