// SPDX-License-Identifier: Apache-2.0
// Things of the CUDA runtime that are given back by themselves. Each belongs to the device that was current when it was
// made. Memory is taken before anything waits and given back after everything has ended: both may wait for the device.
#pragma once

#include <utility>

#include "bench_kernels.hpp"

namespace switchyard::harness {

/// A handle and the call that gives it back.
template <class Handle, cudaError_t (*give_back)(Handle)>
class owned {
 public:
  owned() = default;
  explicit owned(Handle handle) : handle_(handle) {}
  ~owned() {
    if (handle_ != nullptr) (void)give_back(handle_);
  }
  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  owned(const owned&) = delete;
  owned& operator=(const owned&) = delete;
  [[nodiscard]] Handle get() const noexcept { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using owned_stream = owned<cudaStream_t, cudaStreamDestroy>;
using owned_event = owned<cudaEvent_t, cudaEventDestroy>;
using owned_graph = owned<cudaGraph_t, cudaGraphDestroy>;
using owned_graph_exec = owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using device_bytes = owned<void*, cudaFree>;
using pinned_bytes = owned<void*, cudaFreeHost>;

inline owned_stream make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return owned_stream(stream);
}
inline owned_event make_event() {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "creating an event");
  return owned_event(event);
}
inline device_bytes take_device(std::size_t bytes) {
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, bytes == 0 ? 16 : bytes), "taking device memory");
  return device_bytes(data);
}
inline pinned_bytes take_pinned(std::size_t bytes) {
  void* data = nullptr;
  check_cuda(cudaMallocHost(&data, bytes == 0 ? 16 : bytes), "taking pinned memory");
  return pinned_bytes(data);
}
template <class Handle>
std::byte* bytes_of(const Handle& memory) {
  return static_cast<std::byte*>(memory.get());
}

/// What `enqueue` puts on `stream`, as a graph ready to be launched.
template <class Enqueue>
owned_graph_exec record_graph(cudaStream_t stream, Enqueue enqueue) {
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  try {
    enqueue();
  } catch (...) {
    cudaGraph_t partial = nullptr;  // a stream left in a capture could do nothing more
    (void)cudaStreamEndCapture(stream, &partial);
    const owned_graph graph(partial);
    (void)cudaGetLastError();
    throw;
  }
  cudaGraph_t made = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &made), "ending a capture");
  const owned_graph graph(made);
  cudaGraphExec_t runnable = nullptr;
  check_cuda(cudaGraphInstantiate(&runnable, made, 0), "making a graph ready");
  owned_graph_exec result(runnable);
  check_cuda(cudaGraphUpload(runnable, stream), "uploading a graph");
  check_cuda(cudaStreamSynchronize(stream), "uploading a graph");
  return result;
}

}  // namespace switchyard::harness
