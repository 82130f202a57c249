// SPDX-License-Identifier: Apache-2.0
// Ranks to be timed, whatever they run: a GPU and a stream each, a gate behind which all of them start together,
// clocks. Nothing waits on the host between a gate and the end of what is behind it.
#pragma once

#include <vector>

#include "cuda_resources.hpp"
#include "on_every_rank.hpp"

namespace switchyard::harness {

/// One rank. Its device is made current by make_current().
struct timed_rank {
  int rank = 0;
  owned_stream stream;
  owned_event begin;
  owned_event end;
  device_bytes words;   ///< see signal_words
  device_bytes stamps;  ///< times that kernels write
  signal_words signals;

  void make_current() const { check_cuda(cudaSetDevice(rank), "making a device current"); }
  [[nodiscard]] std::uint64_t* stamp(std::size_t index) const {
    return static_cast<std::uint64_t*>(stamps.get()) + index;
  }
  /// The first `count` times. Its stream must be idle.
  [[nodiscard]] std::vector<std::uint64_t> read_stamps(std::size_t count) const;
};

/// Who enqueues: one thread for all ranks, all of it before the first kernel starts; or a thread per rank, whose calls
/// are in the time when they are slower than what they start.
enum class enqueued_by : std::uint8_t { one_thread, thread_per_rank };

class timed_ranks {
 public:
  static constexpr std::size_t max_stamps = 8192;

  explicit timed_ranks(int ranks);
  virtual ~timed_ranks() = default;
  timed_ranks(const timed_ranks&) = delete;
  timed_ranks& operator=(const timed_ranks&) = delete;

  [[nodiscard]] std::vector<timed_rank>& ranks() noexcept { return ranks_; }

  /// `enqueue(rank)` on every rank behind a gate, between two events; their distance in microseconds, of each rank.
  /// Throws cuda_error, and what synchronize() throws.
  template <class Enqueue>
  std::vector<double> time_together(Enqueue enqueue, enqueued_by who = enqueued_by::one_thread) {
    ++gate_epoch_;
    const auto start = [&](timed_rank& one) {
      delay_last(one);
      one.make_current();
      launch_gate(one.signals, gate_epoch_, one.stream.get());
      check_cuda(cudaEventRecord(one.begin.get(), one.stream.get()), "marking the begin");
      enqueue(one);
      check_cuda(cudaEventRecord(one.end.get(), one.stream.get()), "marking the end");
    };
    if (who == enqueued_by::one_thread) {
      for (auto& one : ranks_) start(one);
    } else {
      on_every_rank(static_cast<int>(ranks_.size()), [&](int rank) { start(ranks_[static_cast<std::size_t>(rank)]); });
    }
    return await_times();
  }
  /// Waits for all streams.
  virtual void synchronize();
  /// From now on the last rank's host is late by up to so much before each gate: what is timed must not see it.
  void set_host_jitter_us(int most) noexcept { host_jitter_us_ = most; }

 private:
  std::vector<double> await_times();
  void delay_last(const timed_rank& one);

  std::vector<timed_rank> ranks_;
  std::uint64_t gate_epoch_ = 0;
  int host_jitter_us_ = 0;
};

/// Measures the link between each rank and its neighbour, and what graphs and clocks cost.
link_yardstick measure_link(timed_ranks& ranks);

}  // namespace switchyard::harness
