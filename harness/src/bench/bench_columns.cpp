// SPDX-License-Identifier: Apache-2.0
// Columns that time whole steps.
#include "bench_columns.hpp"

#include <algorithm>
#include <string>

#include "rotated_buffers.hpp"

namespace switchyard::harness {
namespace {

constexpr int warm_up_launches = 3;

/// Graphs of all ranks, by rank.
using rank_graphs = std::vector<owned_graph_exec>;

/// `buffers_of(rank, step)`: where that step reads and writes.
template <class BuffersOf>
rank_graphs record_steps(const column_context& with, std::int64_t tokens, BuffersOf buffers_of) {
  rank_graphs graphs;
  for (auto& one : with.group.ranks()) {
    one.make_current();
    graphs.push_back(record_graph(one.stream.get(), [&] {
      for (int step = 0; step < with.options.steps; ++step) {
        const auto buffers = buffers_of(one, step);
        with.group.dispatch(one, tokens, buffers);
        with.group.combine(one, tokens, buffers);
      }
    }));
  }
  return graphs;
}

std::vector<double> launch_together(bench_group& group, const rank_graphs& graphs) {
  return group.time_together([&](timed_rank& one) {
    check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(one.rank)].get(), one.stream.get()), "launching steps");
  });
}

/// `launch()` gives the times of all ranks; the first few are not kept.
template <class Launch>
launch_samples sample_launches(const bench_options& options, Launch launch) {
  launch_samples samples(static_cast<std::size_t>(options.ranks));
  for (int i = -warm_up_launches; i < options.launches; ++i) {
    const auto took = launch(i);
    for (std::size_t rank = 0; rank < took.size() && i >= 0; ++rank) {
      samples[rank].push_back(took[rank] / options.steps);
    }
  }
  return samples;
}

}  // namespace

void time_round_trips(const column_context& with, bench_point& point) {
  const auto fixed = [&](const timed_rank& one, int) { return with.group.fixed_buffers(one); };
  const auto graphs = record_steps(with, point.tokens, fixed);
  std::vector<std::vector<device_state>> readings;
  point.before = with.reader.read();
  point.round_trip_us = sample_launches(with.options, [&](int launch) {
    if (launch == 0) readings.push_back(with.reader.read_marks());
    auto took = launch_together(with.group, graphs);
    if (launch >= 0) readings.push_back(with.reader.read_marks());
    return took;
  });
  point.after = with.reader.read();
  point.steps_between = static_cast<std::uint64_t>(with.options.launches + warm_up_launches) *
                        static_cast<std::uint64_t>(with.options.steps);
  if (with.reader.why_not().empty()) point.marked = marks_of(readings);
}

void time_cold(const column_context& with, bench_point& point) {
  rotated_buffers rotated(with.group, with.options, point.tokens);
  const auto graphs =
      record_steps(with, point.tokens, [&](const timed_rank& one, int step) { return rotated.of(one, step); });
  point.cold_us = sample_launches(with.options, [&](int) {
    rotated.empty_caches();
    return launch_together(with.group, graphs);
  });
  rotated.require_outputs(point.tokens);
}

void time_eager(const column_context& with, bench_point& point) {
  point.eager_us = sample_launches(with.options, [&](int) {
    return with.group.time_together(
        [&](timed_rank& one) {
          const auto buffers = with.group.fixed_buffers(one);
          for (int step = 0; step < with.options.steps; ++step) {
            with.group.dispatch(one, point.tokens, buffers);
            with.group.combine(one, point.tokens, buffers);
          }
        },
        enqueued_by::thread_per_rank);
  });
}

}  // namespace switchyard::harness
