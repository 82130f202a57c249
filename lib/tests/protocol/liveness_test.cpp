// SPDX-License-Identifier: Apache-2.0
// Invariant 7: a grid of which only some blocks are resident gets through. Here blocks come one after another, and a
// block that waits keeps its place until it has what it waits for.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "support/exchange.hpp"

namespace switchyard {
namespace {

TEST(liveness, blocks_that_come_one_after_another_get_through) {
  constexpr int ranks = 3;
  constexpr int steps = 4;
  auto shape = test::small_exchange(ranks);
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(20);
  const auto should_be = test::run_on_host(shape, steps);
  // 200: one for every role and every sum.
  for (const int blocks : {2, 3, 7, 31, 200}) {
    for (const int workers : {1, 2}) {
      shape.config.max_blocks = blocks;
      shape.workers = workers;
      const auto is = test::run_on_host(shape, steps);
      for (std::size_t step = 0; step < steps; ++step) {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          expect_same(is[step][rank], should_be[step][rank], shape,
                      std::to_string(blocks) + " blocks by " + std::to_string(workers) + ", rank " +
                          std::to_string(rank) + " step " + std::to_string(step));
        }
      }
    }
  }
}

TEST(liveness, a_mismatch_is_seen_beside_a_rank_that_does_not_come) {
  constexpr auto timeout = std::chrono::seconds(20);
  auto options = test::small_exchange(3).group();
  options.config.timeout = options.config.warmup_timeout = timeout;
  options.config.max_blocks = options.workers = 3;
  options.params.dispatch_format.reset();  // rows of bf16
  test::host_group group(options);
  test::on_every_rank(3, [&](int rank) {
    test::token_batch batch(rank, options.params, {{0, 5, 9, 14}, {3, 4, -1, 1}});
    auto& instance = group.instance(rank);
    auto& stream = group.stream(rank);
    const auto received = instance.dispatch(batch.inputs(), {}, stream);
    stream.synchronize();
    if (rank == 0) return;
    const auto begin = std::chrono::steady_clock::now();
    auto outputs = test::identity_experts(instance, received, stream);
    if (rank == 2) outputs.dtype = dtype::fp16;  // of the same size: ranks that disagree on that write over one another
    instance.combine(outputs, batch.output(), stream);
    stream.synchronize();
    const auto fault = instance.status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::step_mismatch) << "rank " << rank;
    EXPECT_EQ(fault->field, step_field::combine_dtype) << "rank " << rank;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, timeout / 2) << "rank " << rank;
  });
}

}  // namespace
}  // namespace switchyard
