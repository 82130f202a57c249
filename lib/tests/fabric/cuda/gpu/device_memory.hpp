// SPDX-License-Identifier: Apache-2.0
// Memory of tests. It is taken before anything waits and given back after everything has ended: both may wait for the
// whole device.
#pragma once

#include <cstddef>

#include "gpu_test.hpp"

namespace switchyard::test {

class device_bytes {
 public:
  explicit device_bytes(std::size_t bytes) : size_(bytes) { check_cuda(cudaMalloc(&data_, bytes == 0 ? 16 : bytes)); }
  ~device_bytes() { (void)cudaFree(data_); }
  device_bytes(const device_bytes&) = delete;
  device_bytes& operator=(const device_bytes&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

/// Of the host, so that copies never leave the stream.
class pinned_bytes {
 public:
  explicit pinned_bytes(std::size_t bytes) : size_(bytes) {
    check_cuda(cudaMallocHost(&data_, bytes == 0 ? 16 : bytes));
  }
  ~pinned_bytes() { (void)cudaFreeHost(data_); }
  pinned_bytes(const pinned_bytes&) = delete;
  pinned_bytes& operator=(const pinned_bytes&) = delete;
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

}  // namespace switchyard::test
