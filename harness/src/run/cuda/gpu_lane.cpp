// SPDX-License-Identifier: Apache-2.0
#include "gpu_lane.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

constexpr std::size_t pinned_bytes = std::size_t{1} << 20;

// Calls visit(offset, length) for each piece that fits the pinned memory.
template <class Visit>
void for_each_piece(std::size_t bytes, Visit visit) {
  for (std::size_t at = 0; at < bytes; at += pinned_bytes) visit(at, std::min(pinned_bytes, bytes - at));
}

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
  } catch (...) {
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
  check_cuda(cudaEventRecord(ended_, stream_), "marking the end of a rank's work");
  check_cuda(cudaEventSynchronize(ended_), "waiting for a rank's work");
}

void gpu_lane::write(std::byte* place, const std::byte* from, std::size_t bytes) {
  for_each_piece(bytes, [&](std::size_t at, std::size_t length) {
    std::memcpy(pinned_, from + at, length);
    check_cuda(cudaMemcpyAsync(place + at, pinned_, length, cudaMemcpyHostToDevice, stream_), "copy to the device");
    synchronize();
  });
}

void gpu_lane::read(std::byte* into, const std::byte* place, std::size_t bytes) {
  for_each_piece(bytes, [&](std::size_t at, std::size_t length) {
    check_cuda(cudaMemcpyAsync(pinned_, place + at, length, cudaMemcpyDeviceToHost, stream_), "copy from the device");
    synchronize();
    std::memcpy(into + at, pinned_, length);
  });
}

void gpu_lane::fill(std::byte* place, int value, std::size_t bytes) {
  std::memset(pinned_, value, std::min(bytes, pinned_bytes));
  for_each_piece(bytes, [&](std::size_t at, std::size_t length) {
    check_cuda(cudaMemcpyAsync(place + at, pinned_, length, cudaMemcpyHostToDevice, stream_), "filling device memory");
  });
  synchronize();
}

}  // namespace switchyard::harness
