// SPDX-License-Identifier: Apache-2.0
// The bench: link first, then each point, checked before and after it is timed.
#include "switchyard/harness/bench_run.hpp"

#include <algorithm>
#include <string>

#include "bench_check.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {
namespace {

constexpr int warm_up_launches = 3;

std::vector<std::string> describe_devices(int ranks) {
  int driver = 0;
  int runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "version of the driver");
  check_cuda(cudaRuntimeGetVersion(&runtime), "version of the runtime");
  std::vector<std::string> lines;
  for (int device = 0; device < ranks; ++device) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, device), "properties of a device");
    lines.push_back(std::string(properties.name) + ", " + std::to_string(properties.multiProcessorCount) +
                    " multiprocessors, driver for CUDA " + std::to_string(driver) + ", runtime " +
                    std::to_string(runtime));
  }
  return lines;
}

/// Graphs of all ranks, by rank.
using rank_graphs = std::vector<owned_graph_exec>;

rank_graphs record_steps(bench_group& group, const bench_options& options, std::int64_t tokens) {
  rank_graphs graphs;
  for (auto& one : group.ranks()) {
    one.make_current();
    graphs.push_back(record_graph(one.stream.get(), [&] {
      for (int step = 0; step < options.steps; ++step) {
        group.dispatch(one, tokens, group.fixed_buffers(one));
        group.combine(one, tokens, group.fixed_buffers(one));
      }
    }));
  }
  return graphs;
}

/// The same with a clock before, between and after the phases.
rank_graphs record_stamped_steps(bench_group& group, const bench_options& options, std::int64_t tokens) {
  rank_graphs graphs;
  for (auto& one : group.ranks()) {
    one.make_current();
    graphs.push_back(record_graph(one.stream.get(), [&] {
      std::size_t stamp = 0;
      launch_stamp(one.stamp(stamp++), one.stream.get());
      for (int step = 0; step < options.steps; ++step) {
        group.dispatch(one, tokens, group.fixed_buffers(one));
        launch_stamp(one.stamp(stamp++), one.stream.get());
        group.combine(one, tokens, group.fixed_buffers(one));
        launch_stamp(one.stamp(stamp++), one.stream.get());
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

void time_round_trips(bench_group& group, const bench_options& options, bench_point& point) {
  const auto graphs = record_steps(group, options, point.tokens);
  point.round_trip_us.resize(graphs.size());
  for (int launch = -warm_up_launches; launch < options.launches; ++launch) {
    const auto took = launch_together(group, graphs);
    for (std::size_t rank = 0; rank < took.size() && launch >= 0; ++rank) {
      point.round_trip_us[rank].push_back(took[rank] / options.steps);
    }
  }
}

void time_phases(bench_group& group, const bench_options& options, const link_yardstick& link, bench_point& point) {
  const auto graphs = record_stamped_steps(group, options, point.tokens);
  const auto steps = static_cast<std::size_t>(options.steps);
  for (int launch = -warm_up_launches; launch < options.stamped_launches; ++launch) {
    launch_together(group, graphs);
    if (launch < 0) continue;
    std::vector<std::vector<double>> dispatch_us;
    std::vector<std::vector<double>> combine_us;
    for (auto& one : group.ranks()) {
      const auto stamps = one.read_stamps(2 * steps + 1);
      const auto between = [&](std::size_t first) {
        return static_cast<double>(stamps[first + 1] - stamps[first]) / 1000.0 - link.stamp_node_us;
      };
      auto& dispatches = dispatch_us.emplace_back();
      auto& combines = combine_us.emplace_back();
      for (std::size_t step = 0; step < steps; ++step) {
        dispatches.push_back(between(2 * step));
        combines.push_back(between(2 * step + 1));
      }
    }
    std::ranges::copy(max_over_ranks(dispatch_us), std::back_inserter(point.dispatch.raw_us));
    std::ranges::copy(max_over_ranks(combine_us), std::back_inserter(point.combine.raw_us));
  }
}

bench_point measure_point(bench_group& group, const bench_options& options, const bench_inputs& inputs,
                          const link_yardstick& link, std::int64_t tokens) {
  bench_point point;
  point.tokens = tokens;
  const reference::step_shape shape{options.ranks, options.params, tokens};
  const auto routing = inputs.routing(tokens);
  point.dispatch.remote_bytes = remote_bytes_of(shape, routing, options.params.dispatch_bytes_per_token());
  point.combine.remote_bytes = remote_bytes_of(
      shape, routing, static_cast<std::size_t>(options.params.hidden_size) * itemsize(options.params.dtype));

  bench_check check(options, inputs, tokens);
  check.run_step(group);
  check.spoil_outputs(group);
  time_round_trips(group, options, point);
  check.compare_outputs(group);
  check.spoil_outputs(group);
  time_phases(group, options, link, point);
  check.compare_outputs(group);
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
  observer.devices(describe_devices(options.ranks));
  observer.note("making the inputs of " + std::to_string(options.params.max_tokens_per_rank) + " tokens per rank");
  const bench_inputs inputs(options);
  observer.note("connecting " + std::to_string(options.ranks) + " ranks");
  bench_group group(options, inputs);
  observer.note("measuring the link");
  const auto link = measure_link(group);
  observer.link(link);
  for (const auto tokens : options.tokens) {
    observer.note("measuring " + std::to_string(tokens) + " tokens per rank");
    observer.point(measure_point(group, options, inputs, link, tokens));
  }
}

}  // namespace switchyard::harness
