// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes with GPUs: forked from a test that itself never touches CUDA, because a fork of one that has
// cannot.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "comm/rank_processes.hpp"
#include "cuda_group.hpp"
#include "lamport_steps.hpp"

namespace switchyard::test {

/// Skipped where there are too few GPUs, or failed where there must be more; asked for by another process.
template <int Needed>
class gpu_process_test : public testing::Test {
 protected:
  void SetUp() override {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
    const auto asking = fork();
    if (asking == 0) {
      int found = 0;
      _exit(cudaGetDeviceCount(&found) == cudaSuccess ? found : 0);
    }
    int status = 0;
    (void)waitpid(asking, &status, 0);
    const int found = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (found >= Needed) return;
    const auto what = std::to_string(found) + " GPU(s), needs " + std::to_string(Needed);
    const char* required = std::getenv("SWITCHYARD_REQUIRE_GPUS");
    if (required != nullptr && std::atoi(required) >= Needed) FAIL() << what;
    GTEST_SKIP() << what;
  }
};

/// One rank's end, in its own process.
class gpu_process_rank {
 public:
  gpu_process_rank(const meeting_place& where, const exchange& shape, int rank, int device, bool may_share)
      : backend(where.make(rank, shape.ep_size)), shape_(shape), rank_(rank) {
    check_cuda(cudaSetDevice(device));
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    step_.emplace(shape);
    boot.rank = rank;
    boot.ep_size = shape.ep_size;
    boot.kind = fabric_kind::cuda;
    boot.device = device;
    boot.comm_backend = backend;
    boot.processes_may_share_gpu = may_share;
    instance.emplace(boot, shape.params, shape.config);
  }

  void run_steps(const outcomes& should_be) {
    for (int step = 0; step < static_cast<int>(should_be.size()); ++step) {
      const auto where = "rank " + std::to_string(rank_) + " step " + std::to_string(step);
      step_->upload(make_inputs(shape_, rank_, step), stream_);
      step_->dispatch(*instance, stream_);
      step_->download_views(stream_);
      step_->combine(*instance, stream_);
      step_->download_output(stream_);
      check_cuda(cudaStreamSynchronize(stream_));
      const auto fault = instance->status();
      require(!fault, where + ": " + (fault ? std::string(to_string(fault->code)) : std::string()));
      expect_same(step_->outcome(), should_be[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank_)], shape_,
                  where);
      require(!testing::Test::HasFailure(), where + " is not what the host fabric makes of it");
    }
  }
  /// A step that must be missed by name.
  void require_missed(int missing) {
    step_->upload(make_inputs(shape_, rank_, 0), stream_);
    step_->dispatch(*instance, stream_);
    check_cuda(cudaStreamSynchronize(stream_));
    const auto fault = instance->status();
    require(fault && fault->code == fault_code::timeout && contains(fault->missing, missing), "nobody was missed");
  }

  std::shared_ptr<comm_backend> backend;
  bootstrap boot;
  std::optional<one_sided_all_to_all> instance;

 private:
  exchange shape_;
  int rank_;
  cudaStream_t stream_ = nullptr;  // given back with the process
  std::optional<cuda_step> step_;
};

inline exchange process_exchange(int ep_size, choice lamport) {
  auto shape = lamport_exchange(ep_size);
  shape.row_bytes = {256, 16, 16, 8, 0};
  shape.config.lamport = lamport;
  shape.config.enable_rank_mask = true;
  shape.config.timeout = std::chrono::seconds(5);  // turns of the GPU are long where processes share one
  shape.config.warmup_timeout = std::chrono::seconds(20);
  return shape;
}

/// Rank r on GPU r mod num_devices: steps, checkpoints with fresh connections, a rank that is killed.
inline void expect_processes_to_be_exact(int num_devices, int ep_size, choice lamport, bool may_share) {
  const auto shape = process_exchange(ep_size, lamport);
  const auto should_be = run_the_same_on_host(shape, 6);
  rank_set active{};
  for (int rank = 0; rank < ep_size; ++rank) {
    if (rank != 1) insert(active, rank);
  }
  auto masked = shape;
  masked.active = active;
  const auto without = run_the_same_on_host(masked, 6);
  const meeting_place where(socket_kind::unix_socket);
  const meeting_place again(socket_kind::unix_socket);
  rank_processes ranks(ep_size, [&](int rank) {
    gpu_process_rank self(where, shape, rank, rank % num_devices, may_share);
    self.run_steps(should_be);
    self.backend = self.boot.comm_backend = nullptr;
    self.instance->checkpoint_prepare();
    self.backend = again.make(rank, ep_size);
    self.instance->checkpoint_restore(self.backend);
    self.run_steps(should_be);
    if (rank == 1) (void)::raise(SIGKILL);
    self.require_missed(1);
    self.instance->recover(*self.backend, active);
    self.run_steps(without);
  });
  for (int rank = 0; rank < ep_size; ++rank) {
    EXPECT_EQ(ranks.outcome(rank), rank == 1 ? "ended by signal 9" : "") << "rank " << rank;
  }
}

}  // namespace switchyard::test
