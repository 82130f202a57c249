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

}  // namespace
}  // namespace switchyard
