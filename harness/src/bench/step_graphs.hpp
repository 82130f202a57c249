// SPDX-License-Identifier: Apache-2.0
// A bench's steps in a graph per rank.
#pragma once

#include <vector>

#include "bench_columns.hpp"

namespace switchyard::harness {

/// Graphs of all ranks, by rank.
using rank_graphs = std::vector<owned_graph_exec>;

/// In the way that the group uses. `buffers_of(rank, step)`: where that step reads and writes.
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

/// Microseconds that each rank took.
inline std::vector<double> launch_together(bench_group& group, const rank_graphs& graphs) {
  return group.time_together([&](timed_rank& one) {
    check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(one.rank)].get(), one.stream.get()), "launching steps");
  });
}

}  // namespace switchyard::harness
