// SPDX-License-Identifier: Apache-2.0
// Times NCCL steps by the method of the headline: steps back to back in one graph per rank, launched behind a gate.
#include <algorithm>
#include <optional>

#include "nccl_environment.hpp"
#include "nccl_step.hpp"
#include "switchyard/harness/bench_nccl.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

constexpr int launches_before = 3;
constexpr std::array all_schemes{nccl_scheme::all_gather, nccl_scheme::send_receive};
constexpr std::array all_memories{nccl_memory::plain, nccl_memory::registered, nccl_memory::symmetric_window};

enum class step_part : std::uint8_t { dispatch, round_trip };

void enqueue_part(nccl_step& step, step_part part, const timed_rank& one) {
  step.dispatch(one);
  if (part == step_part::round_trip) step.combine(one);
}

using rank_graphs = std::vector<owned_graph_exec>;

rank_graphs record_steps(nccl_group& group, nccl_step& step, step_part part, int steps) {
  rank_graphs graphs(group.ranks().size());
  on_every_rank(group.size(), [&](int rank) {
    const auto& one = group.ranks()[static_cast<std::size_t>(rank)];
    one.make_current();
    graphs[static_cast<std::size_t>(rank)] = record_graph(one.stream.get(), [&] {
      for (int i = 0; i < steps; ++i) enqueue_part(step, part, one);
    });
  });
  return graphs;
}

std::vector<double> launch_together(nccl_group& group, const rank_graphs& graphs) {
  return group.time_together([&](const timed_rank& one) {
    check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(one.rank)].get(), one.stream.get()), "launching steps");
  });
}

void require_right(nccl_step& step, step_part part) {
  auto wrong = step.check_dispatch();
  if (wrong.empty() && part == step_part::round_trip) wrong = step.check_combine();
  if (!wrong.empty()) throw nccl_error(wrong);
}

/// Checked before it is timed and after.
std::vector<std::vector<double>> time_part(nccl_group& group, nccl_step& step, step_part part,
                                           const bench_options& options) {
  const auto graphs = record_steps(group, step, part, options.steps);
  step.spoil();
  launch_together(group, graphs);
  require_right(step, part);
  step.spoil();
  std::vector<std::vector<double>> samples(graphs.size());
  for (int launch = -launches_before; launch < options.launches; ++launch) {
    const auto took = launch_together(group, graphs);
    for (std::size_t rank = 0; rank < took.size() && launch >= 0; ++rank) {
      samples[rank].push_back(took[rank] / options.steps);
    }
  }
  require_right(step, part);
  return samples;
}

/// Connections are made at the first call: never in a graph.
void run_once(nccl_group& group, nccl_step& step) {
  on_every_rank(group.size(), [&](int rank) {
    const auto& one = group.ranks()[static_cast<std::size_t>(rank)];
    one.make_current();
    enqueue_part(step, step_part::round_trip, one);
  });
  group.synchronize();
}

nccl_measurement measure(nccl_group& group, nccl_step& step, nccl_measurement labels, const bench_options& options) {
  try {
    step.prepare(labels.tokens);
    run_once(group, step);
    labels.dispatch_us = time_part(group, step, step_part::dispatch, options);
    labels.round_trip_us = time_part(group, step, step_part::round_trip, options);
  } catch (const nccl_error& failure) {
    labels.failure = failure.what();
    labels.dispatch_us.clear();
    labels.round_trip_us.clear();
  }
  return labels;
}

struct yardstick_context {
  const bench_options& options;
  const bench_inputs& inputs;
  nccl_observer& observer;
};

/// Every point of one variant and shape. No `group`: `labels` say why.
void measure_variant(const yardstick_context& with, nccl_group* group, nccl_measurement labels) {
  std::unique_ptr<nccl_step> step;
  try {
    if (group != nullptr) {
      step = make_nccl_step(labels.scheme, *group, with.options, with.inputs, labels.variant.memory);
    }
  } catch (const nccl_error& failure) {
    labels.failure = failure.what();
  }
  for (const auto tokens : with.options.tokens) {
    labels.tokens = tokens;
    with.observer.measured(step == nullptr ? labels : measure(*group, *step, labels, with.options));
  }
}

}  // namespace

void run_nccl_yardsticks(const bench_options& options, const std::string& library_file, nccl_observer& observer) {
  nccl_library library;
  library.environment = nccl_environment();
  std::optional<nccl_api> api;
  try {
    api = load_nccl(library_file);
  } catch (const nccl_error& failure) {
    library.why_not = failure.what();
    return observer.nccl_found(library);
  }
  library.version = api->version;
  observer.nccl_found(library);
  std::unique_ptr<nccl_group> group;
  std::string why_not;
  try {
    group = std::make_unique<nccl_group>(*api, options.ranks);
  } catch (const nccl_error& failure) {
    why_not = failure.what();
  }
  for (const auto& of_shape : options_of_shapes(options)) {
    const bench_inputs inputs(of_shape);
    const auto shape = shape_of(of_shape.params, of_shape.low_precision_combine);
    for (const auto memory : all_memories) {
      for (const auto scheme : all_schemes) {
        const nccl_variant variant{memory, graph_mixing_of_process()};
        observer.note("NCCL " + library.version + ": " + std::string(to_string(scheme)) + ", " + to_string(variant) +
                      ": " + shape_text(shape));
        measure_variant({of_shape, inputs, observer}, group.get(), {0, scheme, variant, why_not, {}, {}, shape});
      }
    }
  }
}

}  // namespace switchyard::harness
