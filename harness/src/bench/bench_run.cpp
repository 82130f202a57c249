// SPDX-License-Identifier: Apache-2.0
// The bench: link first, then each point, checked before and after it is timed.
#include "switchyard/harness/bench_run.hpp"

#include <string>

#include "bench_machine.hpp"
#include "round_trips.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {
namespace {

/// The columns beside the headline, of the way that the group uses.
void measure_columns(const column_context& with, bench_check& check, bench_point& point) {
  for (const auto column : {time_eager, time_phases, time_streams}) {
    check.spoil_outputs(with.group);
    column(with, point);
    check.compare_outputs(with.group);
  }
  time_cold(with, point);  // compares its outputs with those just checked
}

/// One point a way.
std::vector<bench_point> measure_points(const column_context& with, const bench_inputs& inputs, std::int64_t tokens) {
  const auto& ways = with.group.ways();
  const reference::step_shape step{with.options.ranks, with.options.params, tokens};
  const auto routing = inputs.routing(tokens);
  std::vector<bench_point> points(ways.size());
  std::vector<bench_check> checks;
  for (std::size_t i = 0; i < points.size(); ++i) {
    with.group.use(i);
    auto& check = checks.emplace_back(with.options, inputs, tokens);
    check.run_step(with.group);
    auto& point = points[i];
    point.tokens = tokens;
    point.shape = shape_of(with.options.params, with.options.low_precision_combine);
    point.asked = ways[i].transport;
    point.variant = ways[i].variant;
    point.taken = check.taken();
    point.taken_because = check.taken_because();
    point.dispatch.bytes = dispatch_bytes_of(step, routing);
    point.combine.bytes = combine_bytes_of(step, routing, with.options.low_precision_combine);
  }
  round_trips trips(with, tokens);
  trips.time(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    with.group.use(i);
    checks[i].spoil_outputs(with.group);
    trips.run_once(i);
    checks[i].compare_outputs(with.group);
    const bool all = with.options.columns == bench_columns::all && ways[i].variant == bench_variant::usual;
    if (all) measure_columns(with, checks[i], points[i]);
    points[i].checked_rows = checks[i].rows();
    points[i].checked_what = checks[i].describe();
  }
  return points;
}

/// Groups of different shapes do not exist side by side: all that one took it has given back when this returns.
void measure_shape(const bench_options& options, const link_yardstick& link, const device_reader& reader,
                   bench_observer& observer) {
  observer.note(shape_text(shape_of(options.params, options.low_precision_combine)) + ": making the inputs of " +
                std::to_string(options.params.max_tokens_per_rank) + " tokens per rank");
  const bench_inputs inputs(options);
  observer.note("connecting " + std::to_string(options.ranks) + " ranks");
  bench_group group(options, inputs);
  group.set_host_jitter_us(options.host_jitter_us);
  for (auto due = options.tokens; !due.empty(); due = observer.further_tokens()) {
    for (const auto tokens : due) {
      observer.note("measuring " + std::to_string(tokens) + " tokens per rank");
      for (const auto& point : measure_points({group, options, link, reader}, inputs, tokens)) observer.point(point);
    }
  }
}

link_yardstick measure_link_of(int ranks) {
  timed_ranks group(ranks);
  return measure_link(group);
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
  observer.note("measuring the link");
  const auto link = measure_link_of(options.ranks);
  observer.link(link);
  for (const auto& of_shape : options_of_shapes(options)) measure_shape(of_shape, link, reader, observer);
}

}  // namespace switchyard::harness
