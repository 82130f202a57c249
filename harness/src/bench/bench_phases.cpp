// SPDX-License-Identifier: Apache-2.0
// Columns that time the phases of a step apart.
#include <algorithm>
#include <optional>

#include "bench_columns.hpp"

namespace switchyard::harness {
namespace {

constexpr int unstamped_launches = 3;
constexpr std::uint64_t exchange_rounds = 64;  // the quickest one counts: some 50 us in all

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

void append(phase_spans& to, const phase_spans& from) {
  append(to.kernel_us, from.kernel_us);
  append(to.e2e_us, from.e2e_us);
  append(to.skew_us, from.skew_us);
  append(to.settled_us, from.settled_us);
}

/// Clocks of the GPUs against rank 0's, all within a fraction of a millisecond. Empty when a peer did not answer.
std::vector<clock_offset> compare_clocks(bench_group& group) {
  auto& ranks = group.ranks();
  std::vector<clock_offset> offsets{{0, 0}};
  for (std::size_t peer = 1; peer < ranks.size(); ++peer) {
    group.time_together([&](timed_rank& one) {
      const auto rank = static_cast<std::size_t>(one.rank);
      if (rank != 0 && rank != peer) return;
      launch_clock_exchange(one.signals, rank == 0 ? static_cast<int>(peer) : 0, exchange_rounds, one.stamp(0),
                            one.stream.get());
    });
    const auto asked = ranks.front().read_stamps(2 * exchange_rounds);
    const auto answered = ranks[peer].read_stamps(exchange_rounds);
    if (asked.front() == 0 || answered.front() == 0) return {};
    std::vector<clock_exchange> exchanges;
    for (std::size_t i = 0; i < exchange_rounds; ++i) {
      exchanges.push_back({asked[2 * i], answered[i], asked[2 * i + 1]});
    }
    offsets.push_back(offset_of(exchanges).value());
  }
  return offsets;
}

/// The same graph as the headline's, with a clock before, between and after the phases.
std::vector<owned_graph_exec> record_stamped_steps(const column_context& with, std::int64_t tokens) {
  std::vector<owned_graph_exec> graphs;
  for (auto& one : with.group.ranks()) {
    one.make_current();
    const auto buffers = with.group.fixed_buffers(one);
    graphs.push_back(record_graph(one.stream.get(), [&] {
      std::size_t stamp = 0;
      launch_stamp(one.stamp(stamp++), one.stream.get());
      for (int step = 0; step < with.options.steps; ++step) {
        with.group.dispatch(one, tokens, buffers);
        launch_stamp(one.stamp(stamp++), one.stream.get());
        with.group.combine(one, tokens, buffers);
        launch_stamp(one.stamp(stamp++), one.stream.get());
      }
    }));
  }
  return graphs;
}

struct phase_events {
  std::vector<owned_event> of_ends;  ///< as the stamps of a graph lie
};

double between(const phase_events& events, std::size_t place) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, events.of_ends[place].get(), events.of_ends[place + 1].get()),
             "time between events");
  return static_cast<double>(milliseconds) * 1000.0;
}

}  // namespace

void time_phases(const column_context& with, bench_point& point) {
  const auto graphs = record_stamped_steps(with, point.tokens);
  const auto count = 2 * static_cast<std::size_t>(with.options.steps) + 1;
  bool comparable = true;
  double error_ns = 0;
  for (int launch = -unstamped_launches; launch < with.options.stamped_launches; ++launch) {
    const auto before = compare_clocks(with.group);
    with.group.time_together([&](timed_rank& one) {
      check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(one.rank)].get(), one.stream.get()),
                 "launching steps with clocks");
    });
    std::vector<std::vector<std::uint64_t>> stamps;
    for (const auto& one : with.group.ranks()) stamps.push_back(one.read_stamps(count));
    const auto after = compare_clocks(with.group);
    if (launch < 0) continue;
    comparable = comparable && !before.empty() && !after.empty();
    std::vector<double> ahead_ns;
    for (std::size_t rank = 0; comparable && rank < before.size(); ++rank) {
      const auto offset = midway(before[rank], after[rank]);
      ahead_ns.push_back(offset.offset_ns);
      error_ns = std::max(error_ns, offset.error_ns);
    }
    const double node_us = with.link.stamp_node_us;
    append(point.dispatch.spans, spans_of(stamps, 0, 2, node_us, ahead_ns));
    append(point.combine.spans, spans_of(stamps, 1, 2, node_us, ahead_ns));
  }
  if (comparable) point.clock_error_us = error_ns / 1000.0;
}

void time_streams(const column_context& with, bench_point& point) {
  std::vector<phase_events> events;
  const auto steps = static_cast<std::size_t>(with.options.steps);
  for (auto& one : with.group.ranks()) {
    one.make_current();
    auto& mine = events.emplace_back();
    for (std::size_t i = 0; i < 2 * steps + 1; ++i) mine.of_ends.push_back(make_event());
  }
  for (int launch = -unstamped_launches; launch < with.options.stamped_launches; ++launch) {
    with.group.time_together(
        [&](timed_rank& one) {
          const auto buffers = with.group.fixed_buffers(one);
          const auto& mine = events[static_cast<std::size_t>(one.rank)].of_ends;
          const auto mark = [&](std::size_t place) {
            check_cuda(cudaEventRecord(mine[place].get(), one.stream.get()), "marking the end of a phase");
          };
          mark(0);
          for (std::size_t step = 0; step < steps; ++step) {
            with.group.dispatch(one, point.tokens, buffers);
            mark(2 * step + 1);
            with.group.combine(one, point.tokens, buffers);
            mark(2 * step + 2);
          }
        },
        enqueued_by::thread_per_rank);
    for (std::size_t place = 0; place < 2 * steps && launch >= 0; ++place) {
      double slowest = 0;
      for (const auto& mine : events) slowest = std::max(slowest, between(mine, place));
      (place % 2 == 0 ? point.dispatch : point.combine).stream_us.push_back(slowest);
    }
  }
}

}  // namespace switchyard::harness
