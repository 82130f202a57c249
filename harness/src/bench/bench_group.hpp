// SPDX-License-Identifier: Apache-2.0
// Ranks to be measured: a GPU, a stream, an instance and warm, fixed buffers each. One thread enqueues for all of them;
// nothing waits on the host between a gate and the end of what is behind it.
#pragma once

#include <memory>
#include <vector>

#include "bench_inputs.hpp"
#include "cuda_resources.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {

/// One rank. Its device is made current by make_current().
struct bench_rank {
  int rank = 0;
  owned_stream stream;
  owned_event begin;
  owned_event end;
  device_bytes words;                                        ///< see signal_words
  device_bytes stamps;                                       ///< times that kernels write
  std::array<device_bytes, all_payloads.size()> payloads{};  ///< inputs
  device_bytes output;
  signal_words signals;
  std::unique_ptr<one_sided_all_to_all> instance;

  void make_current() const { check_cuda(cudaSetDevice(rank), "making a device current"); }
  [[nodiscard]] std::uint64_t* stamp(std::size_t index) const {
    return static_cast<std::uint64_t*>(stamps.get()) + index;
  }
};

class bench_group {
 public:
  bench_group(const bench_options& options, const bench_inputs& inputs);
  ~bench_group();
  bench_group(const bench_group&) = delete;
  bench_group& operator=(const bench_group&) = delete;

  [[nodiscard]] std::vector<bench_rank>& ranks() noexcept { return ranks_; }
  /// Enqueues the phase on the rank's stream. Views and experts' rows lie where they always lie.
  dispatch_result dispatch(bench_rank& on, std::int64_t tokens);
  void combine(bench_rank& on, std::int64_t tokens);

  /// `enqueue(rank)` on every rank behind a gate, between two events; their distance in microseconds, of each rank.
  /// Throws cuda_error, and peer_fault when an instance has a fault.
  template <class Enqueue>
  std::vector<double> time_together(Enqueue enqueue) {
    ++gate_epoch_;
    for (auto& one : ranks_) {
      one.make_current();
      launch_gate(one.signals, gate_epoch_, one.stream.get());
      check_cuda(cudaEventRecord(one.begin.get(), one.stream.get()), "marking the begin");
      enqueue(one);
      check_cuda(cudaEventRecord(one.end.get(), one.stream.get()), "marking the end");
    }
    return await_times();
  }
  /// Waits for all streams.
  void synchronize();

 private:
  std::vector<double> await_times();

  const bench_options& options_;
  std::array<std::size_t, all_payloads.size()> row_bytes_{};
  std::vector<bench_rank> ranks_;
  std::uint64_t gate_epoch_ = 0;
};

/// Measures the link between each rank and its neighbour, and what graphs and clocks cost.
link_yardstick measure_link(bench_group& group);

}  // namespace switchyard::harness
