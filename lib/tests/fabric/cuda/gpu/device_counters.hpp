// SPDX-License-Identifier: Apache-2.0
// Words that kernels of tests count in, and words of the host that they and the CPU tell each other things by.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "device_memory.hpp"

namespace switchyard::test {

/// A count on the device, 0 at first.
class device_count {
 public:
  device_count() : word_(sizeof(std::uint64_t)) { check_cuda(cudaMemset(word_.data(), 0, word_.size())); }
  [[nodiscard]] std::uint64_t* get() const { return reinterpret_cast<std::uint64_t*>(word_.data()); }
  /// Waits for the whole device: not while a kernel may wait for a peer.
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t count = 0;
    check_cuda(cudaMemcpy(&count, word_.data(), sizeof(count), cudaMemcpyDeviceToHost));
    return count;
  }

 private:
  device_bytes word_;
};

/// Words of the host that every GPU reaches at the same address.
class host_words {
 public:
  explicit host_words(std::size_t count) : bytes_(count * sizeof(std::uint32_t)) {
    std::memset(bytes_.data(), 0, count * sizeof(std::uint32_t));
  }
  [[nodiscard]] std::uint32_t* at(std::size_t index) const {
    return reinterpret_cast<std::uint32_t*>(bytes_.data()) + index;
  }
  [[nodiscard]] std::uint32_t load(std::size_t index) const {
    return std::atomic_ref(*at(index)).load(std::memory_order_acquire);
  }
  void store(std::size_t index, std::uint32_t value) const {
    std::atomic_ref(*at(index)).store(value, std::memory_order_release);
  }

 private:
  pinned_bytes bytes_;
};

}  // namespace switchyard::test
