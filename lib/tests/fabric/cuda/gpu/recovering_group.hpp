// SPDX-License-Identifier: Apache-2.0
// Groups on GPUs that fail and recover; every step is compared with the host fabric's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_group.hpp"
#include "lamport_steps.hpp"
#include "support/masked_group.hpp"

namespace switchyard::test {

/// Of steps that `lamport` decides the transport of.
inline exchange recovering_exchange(int ep_size, choice lamport) {
  auto shape = lamport_exchange(ep_size);
  shape.row_bytes = {256, 16, 16, 8, 0};  // whole units, so that views are copied by kernels
  shape.config.lamport = lamport;
  shape.config.enable_rank_mask = true;
  shape.config.timeout = std::chrono::milliseconds(500);
  shape.config.warmup_timeout = std::chrono::seconds(10);
  shape.zero_copy = false;
  shape.full = true;  // as graphs ask for, whose n is fixed
  return shape;
}

/// Meets again and again.
class thread_meeting {
 public:
  explicit thread_meeting(int size) : size_(size) {}
  void arrive() {
    std::unique_lock lock(mutex_);
    const auto round = round_;
    if (++here_ == size_) {
      here_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      const auto came = changed_.wait_for(lock, std::chrono::seconds(100), [&] { return round_ != round; });
      if (!came) throw std::runtime_error("a rank's thread has not come to the others");
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int size_;
  int here_ = 0;
  int round_ = 0;
};

/// One rank's step as a graph, captured before anything has run. Views are copied by kernels: what a graph has to do
/// with a workspace are kernel nodes only.
class captured_step {
 public:
  captured_step(const exchange& shape, cuda_step& step, one_sided_all_to_all& instance, cudaStream_t stream)
      : shape_(shape), step_(step), stream_(stream), counts_(static_cast<std::size_t>(shape.ep_size) * 4) {
    for (std::size_t i = 0; i < 5; ++i) {
      views_.push_back(std::make_unique<device_bytes>(shape.receive_rows() * shape.row_bytes[i]));
      held_.push_back(std::make_unique<pinned_bytes>(views_.back()->size()));
    }
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const auto received = step.dispatch(instance, stream);
    for (std::size_t i = 0; i < 5; ++i) {
      if (shape.row_bytes[i] == 0) continue;
      launch_copy(views_[i]->data(), (received.*result_views[i]).data, shape.receive_rows() * shape.row_bytes[i],
                  start::after_the_launch_before, stream);
    }
    launch_copy(counts_.data(), reinterpret_cast<const std::byte*>(received.recv_counts.data()), counts_.size(),
                start::after_the_launch_before, stream);
    step.combine(instance, stream);
    check_cuda(cudaStreamEndCapture(stream, &graph));
    check_cuda(cudaGraphInstantiate(&replay_, graph, 0));
    check_cuda(cudaGraphDestroy(graph));
    check_cuda(cudaGraphUpload(replay_, stream));
    check_cuda(cudaStreamSynchronize(stream));
  }
  ~captured_step() { (void)cudaGraphExecDestroy(replay_); }
  captured_step(const captured_step&) = delete;
  captured_step& operator=(const captured_step&) = delete;

  void launch() const { check_cuda(cudaGraphLaunch(replay_, stream_)); }
  /// Of the last launch; waits for it.
  rank_outcome outcome() {
    for (std::size_t i = 0; i < 5; ++i) {
      if (shape_.row_bytes[i] == 0) continue;
      check_cuda(cudaMemcpyAsync(held_[i]->data(), views_[i]->data(), shape_.receive_rows() * shape_.row_bytes[i],
                                 cudaMemcpyDeviceToHost, stream_));
    }
    rank_outcome result;
    result.counts.resize(static_cast<std::size_t>(shape_.ep_size));
    check_cuda(cudaMemcpyAsync(result.counts.data(), counts_.data(), counts_.size(), cudaMemcpyDeviceToHost, stream_));
    step_.download_output(stream_);
    check_cuda(cudaStreamSynchronize(stream_));
    for (std::size_t i = 0; i < 5; ++i) {
      if (shape_.row_bytes[i] == 0) continue;
      result.views[i].assign(held_[i]->data(), held_[i]->data() + shape_.receive_rows() * shape_.row_bytes[i]);
    }
    blank_padding(result, shape_);
    result.output = step_.output_bytes();
    return result;
  }

 private:
  exchange shape_;
  cuda_step& step_;
  cudaStream_t stream_;
  std::vector<std::unique_ptr<device_bytes>> views_;
  std::vector<std::unique_ptr<pinned_bytes>> held_;
  device_bytes counts_;
  cudaGraphExec_t replay_ = nullptr;
};

enum class launch_by : std::uint8_t { call, graph };

class recovering_group {
 public:
  static constexpr int steps = 20;

  recovering_group(const exchange& shape, int num_devices, launch_by by)
      : shape_(shape), by_(by), group_(shape, num_devices), meeting_(shape.ep_size) {
    backends_ = make_in_process_backends(shape.ep_size);
    graphs_.resize(static_cast<std::size_t>(shape.ep_size));
    if (by != launch_by::graph) return;
    for (int rank = 0; rank < shape.ep_size; ++rank) {  // in turn: instantiating may wait for the device
      group_.make_current(rank);
      group_.step(rank).upload(make_inputs(shape, rank, 0), group_.stream(rank));
      graphs_[static_cast<std::size_t>(rank)] =
          std::make_unique<captured_step>(shape, group_.step(rank), group_.instance(rank), group_.stream(rank));
    }
  }

  [[nodiscard]] cuda_group& group() { return group_; }
  [[nodiscard]] const exchange& shape() const { return shape_; }
  [[nodiscard]] const std::shared_ptr<comm_backend>& backend(int rank) const {
    return backends_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] rank_set everybody() const { return all_but(shape_.ep_size, {}); }

  /// Outcomes of the host fabric, by which steps are judged, without the ranks that are not active.
  [[nodiscard]] outcomes expected(const rank_set& active) const {
    auto shape = shape_;
    if (active != everybody()) shape.active = active;
    shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(20);
    return run_the_same_on_host(shape, steps);
  }

  void enqueue(int rank, int step) {
    auto& mine = group_.step(rank);
    mine.upload(make_inputs(shape_, rank, step), group_.stream(rank));
    if (by_ == launch_by::graph) return graphs_[static_cast<std::size_t>(rank)]->launch();
    mine.dispatch(group_.instance(rank), group_.stream(rank));
    mine.download_views(group_.stream(rank));
    try {
      mine.combine(group_.instance(rank), group_.stream(rank));
      mine.download_output(group_.stream(rank));
    } catch (const peer_fault&) {  // the dispatch has failed already
    }
  }
  void recover(int rank, const rank_set& active) {
    if (by_ == launch_by::graph) {  // replays are the caller's to end
      group_.instance(rank).abort("on the way to recover");
      group_.synchronize(rank);
    }
    group_.instance(rank).recover(*backends_[static_cast<std::size_t>(rank)], active);
    ASSERT_FALSE(group_.instance(rank).status()) << "rank " << rank;
  }
  /// All of the active ranks together; returns when everybody's are over.
  void expect_exact_steps(int rank, const rank_set& active, const outcomes& should_be, const std::string& behind) {
    for (int step = 0; step < static_cast<int>(should_be.size()); ++step) {
      const auto where = "rank " + std::to_string(rank) + " step " + std::to_string(step) + " behind " + behind;
      enqueue(rank, step);
      group_.synchronize(rank);
      const auto fault = group_.instance(rank).status();
      ASSERT_FALSE(fault) << where << ": " << to_string(fault->code) << " of rank " << fault->rank;
      const auto is =
          by_ == launch_by::graph ? graphs_[static_cast<std::size_t>(rank)]->outcome() : group_.step(rank).outcome();
      expect_same(is, should_be[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)], shape_, where);
    }
    backends_[static_cast<std::size_t>(rank)]
        ->part_of(active, std::chrono::seconds(20))
        ->barrier(std::chrono::seconds(20));
  }
  /// All ranks' threads.
  void meet() { meeting_.arrive(); }

 private:
  exchange shape_;
  launch_by by_;
  cuda_group group_;
  std::vector<std::shared_ptr<comm_backend>> backends_;
  std::vector<std::unique_ptr<captured_step>> graphs_;
  thread_meeting meeting_;
};

enum class gpu_fault_kind : std::uint8_t { stays_away, other_step, aborts, no_combine };
inline constexpr std::array all_gpu_fault_kinds{gpu_fault_kind::stays_away, gpu_fault_kind::other_step,
                                                gpu_fault_kind::aborts, gpu_fault_kind::no_combine};

/// What one rank of a group does in a step in which rank `erring` does this. Nobody waits for its own launches.
inline void err(recovering_group& group, int rank, int erring, gpu_fault_kind kind) {
  auto& instance = group.group().instance(rank);
  const auto stream = group.group().stream(rank);
  auto& mine = group.group().step(rank);
  auto shape = group.shape();
  try {
    if (rank != erring) return group.enqueue(rank, 1);
    if (kind == gpu_fault_kind::aborts) return instance.abort("drawn");
    if (kind == gpu_fault_kind::stays_away) return;
    if (kind == gpu_fault_kind::other_step) shape.tokens_per_rank -= 3;
    mine.upload(make_inputs(shape, rank, 1), stream);
    (void)instance.dispatch(mine.inputs(), {shape.tokens_per_rank}, stream);
  } catch (const peer_fault&) {  // it has been told of the fault before it could make its call
  }
}

}  // namespace switchyard::test
