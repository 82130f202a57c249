// SPDX-License-Identifier: Apache-2.0
// What a rank has of a GPU for a whole run: a stream, pinned memory that copies pass through, a block of device memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>

#include "../device_read.hpp"

namespace switchyard::harness {

/// Throws out_of_memory or cuda_error naming `what`.
void check_cuda(cudaError_t result, const char* what);

/// Makes a device current for the life of the guard. Throws cuda_error.
class current_device {
 public:
  explicit current_device(int device);
  ~current_device() { (void)cudaSetDevice(before_); }
  current_device(const current_device&) = delete;
  current_device& operator=(const current_device&) = delete;

 private:
  int before_ = 0;
};

/// Only its construction, reserve() and release() take or free memory, which may wait for the whole device; they are
/// called when nothing waits on it. Copies run on the lane's stream and pass through pinned memory, which they fill
/// piece by piece and wait for only when it is full; fill() is a small kernel, for which the kernels of ranks that wait
/// leave room. The lane's device must be current.
class gpu_lane {
 public:
  explicit gpu_lane(int device);
  ~gpu_lane();
  gpu_lane(const gpu_lane&) = delete;
  gpu_lane& operator=(const gpu_lane&) = delete;

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  [[nodiscard]] std::byte* block() const noexcept { return block_; }
  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }
  void reserve(std::size_t bytes);
  void release() noexcept;

  /// Sleeps until everything on the stream has ended.
  void synchronize();
  void write(std::byte* place, const std::byte* from, std::size_t bytes);
  void read(std::span<const device_read> reads);
  void fill(std::byte* place, int value, std::size_t bytes);

 private:
  /// Pinned memory that no copy uses, `bytes` of it or, where less is left, fewer.
  std::byte* pinned_piece(std::size_t& bytes);

  int device_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ended_ = nullptr;
  std::byte* pinned_ = nullptr;
  std::size_t pinned_used_ = 0;  ///< by copies that may not have ended
  std::byte* block_ = nullptr;
  std::size_t block_bytes_ = 0;
};

}  // namespace switchyard::harness
