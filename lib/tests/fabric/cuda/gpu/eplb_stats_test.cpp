// SPDX-License-Identifier: Apache-2.0
// Load statistics on one GPU: what ranks have of each other is of this very step, launched or replayed.
#include <gtest/gtest.h>

#include "lamport_steps.hpp"

namespace switchyard {
namespace {

constexpr std::int64_t num_stats = 15;  // the experts of the exchange
constexpr int ranks = 3;
constexpr int steps = 24;

class gpu_eplb_stats : public test::gpu_test<1> {};

std::int32_t stat(int rank, int step, std::size_t i) { return 1'000'000 * step + 1000 * rank + static_cast<int>(i); }

test::exchange shape_of(choice lamport) {
  auto shape = test::lamport_exchange(ranks);
  shape.config.lamport = lamport;
  shape.config.eplb_stats_num_experts = num_stats;
  shape.zero_copy = false;
  return shape;
}

/// Memory of one rank's statistics: what it gives, and what it had of all after each step.
struct statistics_of_rank {
  explicit statistics_of_rank(std::size_t length)
      : local(4 * length), kept(4 * length * ranks), given(4 * length * steps), told(4 * length * ranks * steps) {}
  test::device_bytes local;
  test::device_bytes kept;
  test::pinned_bytes given;
  test::pinned_bytes told;
};

void expect_told(const statistics_of_rank& is, std::size_t length, int rank) {
  const auto* told = reinterpret_cast<const std::int32_t*>(is.told.data());
  for (int step = 0; step < steps; ++step) {
    for (int source = 0; source < ranks; ++source) {
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_EQ(*told++, stat(source, step, i)) << "rank " << rank << " step " << step << " of rank " << source;
      }
    }
  }
}

/// `replayed`: a step is one graph, captured once.
void run(choice lamport, bool replayed) {
  const auto shape = shape_of(lamport);
  const auto length = static_cast<std::size_t>(shape.config.eplb_stats_num_experts);
  std::vector<std::unique_ptr<statistics_of_rank>> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(std::make_unique<statistics_of_rank>(length));
  test::cuda_group group(shape, 1);
  std::vector<cudaGraphExec_t> graphs(ranks, nullptr);
  const auto enqueue = [&](int rank) {
    auto& mine = *all[static_cast<std::size_t>(rank)];
    auto& step = group.step(rank);
    const dispatch_options options{shape.tokens_per_rank,
                                   {reinterpret_cast<const std::int32_t*>(mine.local.data()), length}};
    const auto received = group.instance(rank).dispatch(step.inputs(), options, group.stream(rank));
    EXPECT_EQ(received.transport, lamport == choice::off ? transport::fence : transport::lamport);
    test::check_cuda(cudaMemcpyAsync(mine.kept.data(), received.eplb_gathered_stats.data(), mine.kept.size(),
                                     cudaMemcpyDeviceToDevice, group.stream(rank)));
    step.combine(group.instance(rank), group.stream(rank));
  };
  test::on_every_rank(ranks, [&](int rank) {
    group.make_current(rank);
    group.step(rank).upload(test::make_inputs(shape, rank, 1), group.stream(rank));
    group.synchronize(rank);
    if (!replayed) return;
    cudaGraph_t graph = nullptr;
    test::check_cuda(cudaStreamBeginCapture(group.stream(rank), cudaStreamCaptureModeThreadLocal));
    enqueue(rank);
    test::check_cuda(cudaStreamEndCapture(group.stream(rank), &graph));
    auto& made = graphs[static_cast<std::size_t>(rank)];
    test::check_cuda(cudaGraphInstantiate(&made, graph, 0));
    test::check_cuda(cudaGraphDestroy(graph));
    test::check_cuda(cudaGraphUpload(made, group.stream(rank)));
    group.synchronize(rank);
  });
  test::on_every_rank(ranks, [&](int rank) {
    group.make_current(rank);
    auto& mine = *all[static_cast<std::size_t>(rank)];
    auto* given = reinterpret_cast<std::int32_t*>(mine.given.data());
    for (int step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < length; ++i) given[static_cast<std::size_t>(step) * length + i] = stat(rank, step, i);
    }
    for (int step = 0; step < steps; ++step) {
      const auto at = static_cast<std::size_t>(step);
      test::check_cuda(cudaMemcpyAsync(mine.local.data(), mine.given.data() + at * mine.local.size(), mine.local.size(),
                                       cudaMemcpyHostToDevice, group.stream(rank)));
      if (replayed) {
        test::check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(rank)], group.stream(rank)));
      } else {
        enqueue(rank);
      }
      test::check_cuda(cudaMemcpyAsync(mine.told.data() + at * mine.kept.size(), mine.kept.data(), mine.kept.size(),
                                       cudaMemcpyDeviceToHost, group.stream(rank)));
    }
    group.synchronize(rank);
    ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank;
    expect_told(mine, length, rank);
  });
  for (auto* graph : graphs) {
    if (graph != nullptr) test::check_cuda(cudaGraphExecDestroy(graph));
  }
}

TEST_F(gpu_eplb_stats, are_those_of_each_step_by_fence) { run(choice::off, false); }
TEST_F(gpu_eplb_stats, are_those_of_each_step_by_lamport) { run(choice::on, false); }
TEST_F(gpu_eplb_stats, are_those_of_each_replay_by_fence) { run(choice::off, true); }
TEST_F(gpu_eplb_stats, are_those_of_each_replay_by_lamport) { run(choice::on, true); }

}  // namespace
}  // namespace switchyard
