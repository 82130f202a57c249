// SPDX-License-Identifier: Apache-2.0
// The link yardstick: what this machine's links, flags, graphs and clocks take, in the same run as everything else.
#include <algorithm>

#include "switchyard/spec/errors.hpp"
#include "timed_ranks.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t copied_bytes = std::uint64_t{1} << 30;  // 3 ms at 370 GB/s: begin and end do not count
constexpr int repetitions = 5;
constexpr int chain_nodes = 500;
constexpr std::uint64_t flag_rounds = 2000;

struct link_buffers {
  device_bytes source;
  device_bytes destination;
};

enum class direction : std::uint8_t { push, pull };

std::size_t neighbour_of(std::size_t ranks, const timed_rank& one) {
  return (static_cast<std::size_t>(one.rank) + 1) % ranks;
}

/// Every one of the first `busy` ranks copies to or from its neighbour; the rate of the slowest.
double copy_rate(timed_ranks& group, const std::vector<link_buffers>& buffers, direction way, int busy) {
  std::vector<double> times;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const auto took = group.time_together([&](timed_rank& one) {
      if (one.rank >= busy) return;
      const auto& mine = buffers[static_cast<std::size_t>(one.rank)];
      const auto& theirs = buffers[neighbour_of(buffers.size(), one)];
      auto* out = bytes_of(way == direction::push ? theirs.destination : mine.destination);
      launch_copy(out, bytes_of(way == direction::push ? mine.source : theirs.source), copied_bytes, one.stream.get());
    });
    // The first time round, pages and links wake up.
    if (repetition > 0) times.push_back(*std::ranges::max_element(took.begin(), took.begin() + busy));
  }
  return static_cast<double>(copied_bytes) / (median_of(times) * 1000.0);
}

double flag_latency(timed_ranks& group, flag_order order) {
  auto& ranks = group.ranks();
  std::vector<double> one_way_us;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    group.time_together([&](timed_rank& one) {
      if (one.rank < 2) launch_ping_pong(one.signals, 1 - one.rank, flag_rounds, order, one.stamp(0), one.stream.get());
    });
    const auto took_ns = ranks.front().read_stamps(1).front();
    if (took_ns == 0) throw cuda_error("bench: flags between ranks 0 and 1 did not come within 3 s");
    if (repetition > 0) one_way_us.push_back(static_cast<double>(took_ns) / 2000.0 / static_cast<double>(flag_rounds));
  }
  return median_of(one_way_us);
}

/// Time of a node in a chain of equal ones, the slowest rank's.
template <class Enqueue>
double node_time(timed_ranks& group, Enqueue enqueue) {
  std::vector<owned_graph_exec> graphs;
  for (auto& one : group.ranks()) {
    one.make_current();
    graphs.push_back(record_graph(one.stream.get(), [&] {
      for (int node = 0; node < chain_nodes; ++node) enqueue(one);
    }));
  }
  std::vector<double> times;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const auto took = group.time_together([&](timed_rank& one) {
      check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(one.rank)].get(), one.stream.get()), "chain of nodes");
    });
    if (repetition > 0) times.push_back(*std::ranges::max_element(took) / chain_nodes);
  }
  return median_of(times);
}

}  // namespace

link_yardstick measure_link(timed_ranks& group) {
  link_yardstick result;
  const int ranks = static_cast<int>(group.ranks().size());
  {
    std::vector<link_buffers> buffers;
    for (auto& one : group.ranks()) {
      one.make_current();
      buffers.push_back({take_device(copied_bytes), take_device(copied_bytes)});
      check_cuda(cudaMemset(buffers.back().source.get(), 1, copied_bytes), "filling the source");
      check_cuda(cudaDeviceSynchronize(), "filling the source");
    }
    result.push_one_way_gb_s = copy_rate(group, buffers, direction::push, 1);
    result.push_both_ways_gb_s = copy_rate(group, buffers, direction::push, ranks);
    result.pull_one_way_gb_s = copy_rate(group, buffers, direction::pull, 1);
    result.pull_both_ways_gb_s = copy_rate(group, buffers, direction::pull, ranks);
  }
  result.flag_latency_us = flag_latency(group, flag_order::relaxed);
  result.ordered_flag_latency_us = flag_latency(group, flag_order::ordered);
  result.empty_node_us = node_time(group, [](timed_rank& one) { launch_empty(one.stream.get()); });
  result.stamp_node_us = node_time(group, [](timed_rank& one) { launch_stamp(one.stamp(0), one.stream.get()); });
  auto& first = group.ranks().front();
  first.make_current();
  launch_tick(first.stamp(0), first.stream.get());
  group.synchronize();
  result.timer_tick_ns = static_cast<double>(first.read_stamps(1).front());
  return result;
}

}  // namespace switchyard::harness
