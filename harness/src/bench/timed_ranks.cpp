// SPDX-License-Identifier: Apache-2.0
#include "timed_ranks.hpp"

#include <chrono>

namespace switchyard::harness {
namespace {

void allow_peers(int device, int devices) {
  for (int peer = 0; peer < devices; ++peer) {
    if (peer == device) continue;
    const auto result = cudaDeviceEnablePeerAccess(peer, 0);
    if (result != cudaErrorPeerAccessAlreadyEnabled) check_cuda(result, "reaching the peer's memory");
    (void)cudaGetLastError();
  }
}

}  // namespace

std::vector<std::uint64_t> timed_rank::read_stamps(std::size_t count) const {
  std::vector<std::uint64_t> result(count);
  make_current();
  check_cuda(cudaMemcpy(result.data(), stamps.get(), count * sizeof result[0], cudaMemcpyDeviceToHost),
             "reading times");
  return result;
}

timed_ranks::timed_ranks(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {
  constexpr auto line = signal_words::spacing * sizeof(std::uint64_t);
  for (int rank = 0; rank < ranks; ++rank) {
    auto& one = ranks_[static_cast<std::size_t>(rank)];
    one.rank = rank;
    one.make_current();
    allow_peers(rank, ranks);
    one.stream = make_stream();
    one.begin = make_event();
    one.end = make_event();
    const auto words = (static_cast<std::size_t>(ranks) + 1) * line;
    one.words = take_device(words);
    check_cuda(cudaMemset(one.words.get(), 0, words), "clearing signals");
    one.stamps = take_device(max_stamps * sizeof(std::uint64_t));
    check_cuda(cudaDeviceSynchronize(), "clearing signals");
  }
  for (auto& one : ranks_) {
    one.signals.rank = one.rank;
    one.signals.ranks = ranks;
    for (const auto& peer : ranks_) {
      one.signals.of_rank[static_cast<std::size_t>(peer.rank)] = static_cast<std::uint64_t*>(peer.words.get());
    }
  }
}

void timed_ranks::synchronize() {
  for (auto& one : ranks_) {
    one.make_current();
    check_cuda(cudaStreamSynchronize(one.stream.get()), "waiting for a rank");
  }
}

std::vector<double> timed_ranks::await_times() {
  synchronize();
  std::vector<double> result;
  for (auto& one : ranks_) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, one.begin.get(), one.end.get()), "time between events");
    result.push_back(static_cast<double>(milliseconds) * 1000.0);
  }
  return result;
}

void timed_ranks::delay_last(const timed_rank& one) {
  if (host_jitter_us_ == 0 || one.rank + 1 != static_cast<int>(ranks_.size())) return;
  // Another delay each time, without a generator: the golden ratio of 2^64 spreads multiples evenly.
  const auto spread = (gate_epoch_ * 0x9E3779B97F4A7C15U) >> 32;
  const auto delay = std::chrono::microseconds(spread % (static_cast<std::uint64_t>(host_jitter_us_) + 1));
  // Sleeping would add what the scheduler adds.
  const auto until = std::chrono::steady_clock::now() + delay;
  while (std::chrono::steady_clock::now() < until) {
  }
}

}  // namespace switchyard::harness
