// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/segment_window.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "switchyard/spec/errors.hpp"

namespace switchyard::host {
namespace {

[[noreturn]] void fail_to_have(std::size_t bytes, const char* what) {
  throw out_of_memory("workspace: " + std::to_string(bytes) + " bytes of " + what + " could not be had");
}

constexpr int nothing_there = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

unique_descriptor make_segment(std::size_t bytes) {
  unique_descriptor made(memfd_create("switchyard", MFD_CLOEXEC));
  if (!made || ftruncate(made.get(), static_cast<off_t>(bytes)) != 0) fail_to_have(bytes, "shared memory");
  return made;
}

segment_window::segment_window(std::size_t bytes) : bytes_(bytes) {
  void* reserved = mmap(nullptr, bytes_, PROT_NONE, nothing_there, -1, 0);
  if (reserved == MAP_FAILED) fail_to_have(bytes_, "addresses");
  data_ = static_cast<std::byte*>(reserved);
}

segment_window::~segment_window() {
  discard();
  (void)munmap(data_, bytes_);
}

void segment_window::prepare(int descriptor) {
  struct stat found {};
  // A touch behind its end would be no error but the end of the process.
  if (fstat(descriptor, &found) != 0 || static_cast<std::size_t>(found.st_size) < bytes_) {
    throw unsupported("workspace: a peer has handed over what is no segment of " + std::to_string(bytes_) + " bytes");
  }
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) fail_to_have(bytes_, "addresses");
  discard();
  prepared_ = static_cast<std::byte*>(mapped);
}

void segment_window::show() {
  if (prepared_ == nullptr) return;
  if (mremap(prepared_, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, data_) == MAP_FAILED) {
    fail_to_have(bytes_, "addresses");
  }
  prepared_ = nullptr;
}

void segment_window::show_own_pages() {
  constexpr int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mmap(data_, bytes_, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) fail_to_have(bytes_, "host memory");
}

void segment_window::discard() noexcept {
  if (prepared_ != nullptr) (void)munmap(std::exchange(prepared_, nullptr), bytes_);
}

void segment_window::take_away() {
  if (mmap(data_, bytes_, PROT_NONE, nothing_there | MAP_FIXED, -1, 0) == MAP_FAILED) fail_to_have(bytes_, "addresses");
}

}  // namespace switchyard::host
