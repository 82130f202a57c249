// SPDX-License-Identifier: Apache-2.0
// Columns that time whole steps of one transport.
#include "bench_columns.hpp"

#include "rotated_buffers.hpp"
#include "step_graphs.hpp"

namespace switchyard::harness {
namespace {

constexpr int warm_up_launches = 3;

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
