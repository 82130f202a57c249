// SPDX-License-Identifier: Apache-2.0
// Ordered queues of work. A host_stream is to the host fabric what a CUDA stream is to a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

struct CUstream_st;  // a CUDA stream is a pointer to one: cudaStream_t, CUstream

namespace switchyard {

/// Where workspaces live and kernels run.
enum class fabric_kind : std::uint8_t {
  host,  ///< CPU shared memory; a kernel is a team of threads
  cuda,  ///< GPU memory over NVLink
};

/// An in-order queue of work on the CPU. Work is run by `num_workers` threads of the stream: a plain task by one of
/// them, a launch of B blocks by all of them, each taking blocks in ascending order until none is left; the next item
/// starts when the last block has ended. With one worker the blocks of a launch run one after another.
/// Thread-safe. The destructor waits for all work.
class host_stream {
 public:
  /// Throws invalid_argument unless 1 <= num_workers <= 256, out_of_memory when a thread cannot be started. Workers run
  /// in the default floating-point environment, whatever that of the caller is.
  explicit host_stream(int num_workers = 1);
  ~host_stream();
  host_stream(const host_stream&) = delete;
  host_stream& operator=(const host_stream&) = delete;

  [[nodiscard]] int num_workers() const noexcept;

  /// Appends a task. `task` must not throw; an exception that leaves it ends the process, as on any std::thread.
  void enqueue(std::function<void()> task);
  /// Appends `num_blocks` >= 1 calls body(0) .. body(num_blocks - 1), run concurrently by the workers.
  void launch(int num_blocks, std::function<void(int)> body);
  /// Blocks the caller until everything enqueued so far has ended; its effects are then visible to the caller. Not to
  /// be called from a task of the same stream.
  void synchronize();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// A borrowed stream of either fabric; the owner keeps the stream alive while work is queued on it.
class stream_ref {
 public:
  stream_ref(host_stream& stream) noexcept : kind_(fabric_kind::host), handle_(&stream) {}  // NOLINT: a view

  /// Null is CUDA's default stream.
  stream_ref(CUstream_st* stream) noexcept : kind_(fabric_kind::cuda), handle_(stream) {}  // NOLINT: a view

  [[nodiscard]] fabric_kind kind() const noexcept { return kind_; }
  /// Precondition: kind() == fabric_kind::host.
  [[nodiscard]] host_stream& host() const noexcept { return *static_cast<host_stream*>(handle_); }
  /// Precondition: kind() == fabric_kind::cuda.
  [[nodiscard]] CUstream_st* cuda() const noexcept { return static_cast<CUstream_st*>(handle_); }

 private:
  fabric_kind kind_;
  void* handle_;
};

}  // namespace switchyard
