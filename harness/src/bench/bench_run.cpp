// SPDX-License-Identifier: Apache-2.0
// The bench: link first, then each point, checked before and after it is timed.
#include "switchyard/harness/bench_run.hpp"

#include <string>

#include "bench_columns.hpp"
#include "bench_machine.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {
namespace {

phase_bytes bytes_of_phase(const bench_options& options, const bench_inputs& inputs, std::int64_t tokens, phase of) {
  const reference::step_shape shape{options.ranks, options.params, tokens};
  const auto routing = inputs.routing(tokens);
  const auto meta = inputs.row_bytes(payload_kind::topk_ids) + inputs.row_bytes(payload_kind::topk_weights);
  if (of == phase::dispatch) {
    return phase_bytes_of(shape, routing, options.params.dispatch_bytes_per_token(), meta);
  }
  const auto row = static_cast<std::size_t>(options.params.hidden_size) * itemsize(options.params.dtype);
  return phase_bytes_of(shape, routing, row, 0);
}

bench_point measure_point(const column_context& with, const bench_inputs& inputs, std::int64_t tokens) {
  bench_point point;
  point.tokens = tokens;
  point.dispatch.bytes = bytes_of_phase(with.options, inputs, tokens, phase::dispatch);
  point.combine.bytes = bytes_of_phase(with.options, inputs, tokens, phase::combine);

  bench_check check(with.options, inputs, tokens);
  check.run_step(with.group);
  for (const auto column : {time_round_trips, time_eager, time_phases, time_streams}) {
    check.spoil_outputs(with.group);
    column(with, point);
    check.compare_outputs(with.group);
  }
  time_cold(with, point);  // compares its outputs with those just checked
  point.checked_rows = check.rows();
  point.checked_what = check.describe();
  return point;
}

}  // namespace

support bench_support(int ranks) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  (void)cudaGetLastError();
  if (devices < ranks) {
    return {false, std::to_string(ranks) + " ranks need a GPU each, found " + std::to_string(devices)};
  }
  for (int device = 0; device < ranks; ++device) {
    auto usable = one_sided_all_to_all::platform_support(fabric_kind::cuda, device);
    if (!usable.available) return usable;
  }
  return {true, {}};
}

void run_bench(const bench_options& options, bench_observer& observer) {
  const device_reader reader(options.ranks);
  observer.machine(describe_machine(options.ranks, reader));
  observer.note("making the inputs of " + std::to_string(options.params.max_tokens_per_rank) + " tokens per rank");
  const bench_inputs inputs(options);
  observer.note("connecting " + std::to_string(options.ranks) + " ranks");
  bench_group group(options, inputs);
  group.set_host_jitter_us(options.host_jitter_us);
  observer.note("measuring the link");
  const auto link = measure_link(group);
  observer.link(link);
  for (const auto tokens : options.tokens) {
    observer.note("measuring " + std::to_string(tokens) + " tokens per rank");
    observer.point(measure_point({group, options, link, reader}, inputs, tokens));
  }
}

}  // namespace switchyard::harness
