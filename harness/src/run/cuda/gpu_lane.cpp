// SPDX-License-Identifier: Apache-2.0
#include "gpu_lane.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "fill_kernel.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t pinned_bytes = std::size_t{2} << 20;

}  // namespace

void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  const auto message = std::string(what) + ": " + cudaGetErrorName(result) + ", " + cudaGetErrorString(result);
  (void)cudaGetLastError();
  if (result == cudaErrorMemoryAllocation) throw out_of_memory(message);
  throw cuda_error(message);
}

current_device::current_device(int device) {
  check_cuda(cudaGetDevice(&before_), "current device");
  check_cuda(cudaSetDevice(device), "making a rank's device current");
}

gpu_lane::gpu_lane(int device) : device_(device) {
  const current_device current(device);
  try {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a rank's stream");
    check_cuda(cudaEventCreateWithFlags(&ended_, cudaEventDisableTiming | cudaEventBlockingSync), "a rank's event");
    void* pinned = nullptr;
    check_cuda(cudaMallocHost(&pinned, pinned_bytes), "a rank's pinned memory");
    pinned_ = static_cast<std::byte*>(pinned);
    // A kernel's first launch may wait for the whole device. And streams whose first launches come from several threads
    // at the same time may get one hardware queue between them: a launch that waits in it then keeps back another
    // rank's that it waits for.
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    launch_fill(nullptr, 0, 0, stream_);
    synchronize();
  } catch (...) {
    (void)cudaFreeHost(pinned_);
    if (ended_ != nullptr) (void)cudaEventDestroy(ended_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
    throw;
  }
}

gpu_lane::~gpu_lane() {
  release();
  (void)cudaFreeHost(pinned_);
  (void)cudaEventDestroy(ended_);
  (void)cudaStreamDestroy(stream_);
}

void gpu_lane::reserve(std::size_t bytes) {
  if (bytes <= block_bytes_) return;
  release();
  const current_device current(device_);
  void* block = nullptr;
  check_cuda(cudaMalloc(&block, bytes), "device memory of a rank's buffers");
  block_ = static_cast<std::byte*>(block);
  block_bytes_ = bytes;
}

void gpu_lane::release() noexcept {
  (void)cudaFree(block_);  // of whichever device it is
  block_ = nullptr;
  block_bytes_ = 0;
}

void gpu_lane::synchronize() {
  const auto now = cudaStreamQuery(stream_);
  if (now == cudaErrorNotReady) {
    check_cuda(cudaEventRecord(ended_, stream_), "marking the end of a rank's work");
    check_cuda(cudaEventSynchronize(ended_), "waiting for a rank's work");
  } else {
    check_cuda(now, "a rank's work");
  }
  pinned_used_ = 0;
}

std::byte* gpu_lane::pinned_piece(std::size_t& bytes) {
  constexpr std::size_t alignment = 16;
  if (pinned_used_ == pinned_bytes) synchronize();
  bytes = std::min(bytes, pinned_bytes - pinned_used_);
  auto* piece = pinned_ + pinned_used_;
  pinned_used_ = std::min(pinned_bytes, (pinned_used_ + bytes + alignment - 1) / alignment * alignment);
  return piece;
}

void gpu_lane::write(std::byte* place, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0, length = 0; at < bytes; at += length) {
    length = bytes - at;
    auto* piece = pinned_piece(length);
    std::memcpy(piece, from + at, length);
    check_cuda(cudaMemcpyAsync(place + at, piece, length, cudaMemcpyHostToDevice, stream_), "copy to the device");
  }
}

void gpu_lane::read(std::span<const device_read> reads) {
  std::vector<device_read> pending;  // from pinned memory to where it is wanted
  const auto take = [&] {
    synchronize();
    for (const auto& each : pending) std::memcpy(each.into, each.place, each.bytes);
    pending.clear();
  };
  for (const auto& each : reads) {
    for (std::size_t at = 0, length = 0; at < each.bytes; at += length) {
      if (pinned_used_ == pinned_bytes) take();
      length = each.bytes - at;
      auto* piece = pinned_piece(length);
      check_cuda(cudaMemcpyAsync(piece, each.place + at, length, cudaMemcpyDeviceToHost, stream_),
                 "copy from the device");
      pending.push_back({each.into + at, piece, length});
    }
  }
  take();
}

void gpu_lane::fill(std::byte* place, int value, std::size_t bytes) { launch_fill(place, value, bytes, stream_); }

}  // namespace switchyard::harness
