// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/host_memory.hpp"

#include <unistd.h>

#include <new>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::host {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

host_memory::host_memory(std::size_t bytes, std::pmr::memory_resource* resource) : bytes_(bytes), resource_(resource) {
  if (resource_ == nullptr) {
    window_.emplace(bytes_);
    window_->show_own_pages();
    data_ = window_->data();
    return;
  }
  try {
    data_ = static_cast<std::byte*>(resource_->allocate(bytes_, page_bytes()));
  } catch (const std::bad_alloc&) {
    throw out_of_memory("workspace: " + std::to_string(bytes_) + " bytes of host memory could not be had");
  }
}

host_memory::~host_memory() {
  if (resource_ != nullptr) resource_->deallocate(data_, bytes_, page_bytes());
}

void host_memory::release() {
  if (!window_ || released_) return;
  window_->take_away();
  released_ = true;
}

void host_memory::back_again() {
  if (!released_) return;
  window_->show_own_pages();
  released_ = false;
}

}  // namespace switchyard::host
