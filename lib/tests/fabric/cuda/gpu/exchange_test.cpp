// SPDX-License-Identifier: Apache-2.0
// Whole steps on one GPU, every byte compared with the host fabric.
#include <gtest/gtest.h>

#include "cuda_group.hpp"

namespace switchyard {
namespace {

using test::cuda_group;
using test::exchange;
using test::expect_as_on_host;
using test::on_every_rank;
using test::small_exchange;

class gpu_exchange : public test::gpu_test<1> {};

TEST_F(gpu_exchange, every_byte_is_the_host_fabrics_for_two_to_eight_ranks) {
  for (const int ep_size : {1, 2, 3, 8}) expect_as_on_host(small_exchange(ep_size), 1, 6);
}

TEST_F(gpu_exchange, every_dtype_and_odd_widths) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    for (const std::int64_t hidden : {256, 37}) {
      auto shape = small_exchange(3);
      shape.params.dtype = type;
      shape.params.dispatch_format.reset();
      shape.combine_hidden_size = hidden;
      shape.row_bytes = {33, 16, 3, 0, 0};
      shape.zero_copy = hidden == 256;
      expect_as_on_host(shape, 1, 4);
    }
  }
}

TEST_F(gpu_exchange, one_token_and_a_whole_model_row) {
  auto shape = small_exchange(2);
  shape.params = {.num_experts = 256, .top_k = 8, .max_tokens_per_rank = 300, .hidden_size = 7168};
  shape.config.extra_payload_bytes_per_token = 0;
  for (const std::int64_t tokens : {1, 300}) {
    shape.tokens_per_rank = tokens;
    shape.row_bytes = {14336, 32, 32, 0, 0};
    shape.combine_hidden_size = 7168;
    expect_as_on_host(shape, 1, 3);
  }
}

// Ranks that share a GPU have narrow blocks. A warp's stages hold 16 KiB; 6 ids a row are no multiple of 16 bytes.
TEST_F(gpu_exchange, rows_longer_than_the_stages_of_a_warp) {
  auto shape = small_exchange(3);
  shape.params = {.num_experts = 48, .top_k = 6, .max_tokens_per_rank = 150, .hidden_size = 20480};
  shape.config.extra_payload_bytes_per_token = 0;
  shape.tokens_per_rank = 150;
  for (const std::int64_t hidden : {8200, 20480}) {
    shape.row_bytes = {static_cast<std::size_t>(hidden) * 2, 24, 24, 0, 0};
    shape.combine_hidden_size = hidden;
    expect_as_on_host(shape, 1, 2);
  }
}

TEST_F(gpu_exchange, one_block_alone_gets_through) {
  auto shape = small_exchange(2);
  shape.config.max_blocks = 1;
  shape.zero_copy = false;
  expect_as_on_host(shape, 1, 4);
}

TEST_F(gpu_exchange, launches_that_overlap_or_do_not_change_nothing) {
  for (const auto pdl : {choice::off, choice::automatic}) {
    auto shape = small_exchange(2);
    shape.config.enable_pdl = pdl;
    expect_as_on_host(shape, 1, 4);
    expect_outputs_without_a_pause(shape, 1, 20);
  }
}

// No rank looks up between steps, so ranks run ahead of one another as far as the protocol lets them.
TEST_F(gpu_exchange, many_steps_without_a_pause) { expect_outputs_without_a_pause(small_exchange(4), 1, 24); }

TEST_F(gpu_exchange, a_captured_step_replays_with_new_inputs_in_place) {
  constexpr int steps = 6;
  const auto shape = small_exchange(2);
  // n belongs to what is captured: every replay has the first step's.
  const auto full = [&](int rank, int step) {
    for (int seed = step * 8;; ++seed) {
      auto made = make_inputs(shape, rank, seed);
      if (made.num_tokens == shape.tokens_per_rank) return made;
    }
  };
  cuda_group group(shape, 1);
  std::vector<cudaGraphExec_t> graphs(2);
  on_every_rank(2, [&](int rank) {
    group.make_current(rank);
    auto& mine = group.step(rank);
    const auto stream = group.stream(rank);
    mine.upload(full(rank, 0), stream);
    group.synchronize(rank);
    cudaGraph_t graph = nullptr;
    test::check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    mine.dispatch(group.instance(rank), stream);
    mine.download_views(stream);
    mine.combine(group.instance(rank), stream);
    mine.download_output(stream);
    test::check_cuda(cudaStreamEndCapture(stream, &graph));
    test::check_cuda(cudaGraphInstantiate(&graphs[static_cast<std::size_t>(rank)], graph, 0));
    test::check_cuda(cudaGraphUpload(graphs[static_cast<std::size_t>(rank)], stream));
    test::check_cuda(cudaGraphDestroy(graph));
    group.synchronize(rank);
  });
  std::vector<std::vector<test::rank_outcome>> replayed(2);
  on_every_rank(2, [&](int rank) {
    group.make_current(rank);
    auto& mine = group.step(rank);
    for (int step = 0; step < steps; ++step) {
      mine.upload(full(rank, step), group.stream(rank));
      test::check_cuda(cudaGraphLaunch(graphs[static_cast<std::size_t>(rank)], group.stream(rank)));
      group.synchronize(rank);
      ASSERT_FALSE(group.instance(rank).status()) << "rank " << rank << " step " << step;
      replayed[static_cast<std::size_t>(rank)].push_back(mine.outcome());
    }
  });
  // The same inputs, launched one by one.
  cuda_group plain(shape, 1);
  on_every_rank(2, [&](int rank) {
    plain.make_current(rank);
    auto& mine = plain.step(rank);
    const auto stream = plain.stream(rank);
    for (int step = 0; step < steps; ++step) {
      mine.upload(full(rank, step), stream);
      mine.dispatch(plain.instance(rank), stream);
      mine.download_views(stream);
      mine.combine(plain.instance(rank), stream);
      mine.download_output(stream);
      plain.synchronize(rank);
      expect_same(replayed[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)], mine.outcome(), shape,
                  "rank " + std::to_string(rank) + " replay " + std::to_string(step));
    }
  });
  for (auto* graph : graphs) test::check_cuda(cudaGraphExecDestroy(graph));
}

}  // namespace
}  // namespace switchyard
