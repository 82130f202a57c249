// SPDX-License-Identifier: Apache-2.0
// The protocol on teams of several threads: the same bytes as on teams of one, and the same faults.
#include <gtest/gtest.h>

#include <chrono>

#include "support/exchange.hpp"
#include "support/team_block.hpp"

namespace switchyard {
namespace {

using test::host_group;
using test::on_every_rank;
using test::run_on_host;
using test::small_exchange;

test::exchange on_teams(test::exchange shape, int workers) {
  const auto teams = test::make_team_fabric();
  shape.make_fabric = [teams](int) { return teams; };
  shape.workers = workers;
  return shape;
}

TEST(team, every_byte_is_that_of_a_team_of_one) {
  for (const auto& [workers, tokens] : {std::pair{1, 70}, std::pair{3, 70}, std::pair{1, 40}, std::pair{3, 40}}) {
    constexpr int steps = 4;
    auto shape = small_exchange(3);
    shape.tokens_per_rank = tokens;  // 40: few enough for every block to route all of them
    shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(40);
    const auto should_be = run_on_host(shape, steps);
    const auto is = run_on_host(on_teams(shape, workers), steps);
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::size_t rank = 0; rank < 3; ++rank) {
        expect_same(is[step][rank], should_be[step][rank], shape,
                    "rank " + std::to_string(rank) + " step " + std::to_string(step) + " of " + std::to_string(tokens));
      }
    }
  }
}

TEST(team, one_token_is_shared_by_the_whole_team) {
  auto shape = small_exchange(2);
  shape.tokens_per_rank = 1;
  shape.config.timeout = shape.config.warmup_timeout = std::chrono::seconds(40);
  const auto should_be = run_on_host(shape, 5);
  const auto is = run_on_host(on_teams(shape, 1), 5);
  for (std::size_t step = 0; step < 5; ++step) {
    for (std::size_t rank = 0; rank < 2; ++rank) expect_same(is[step][rank], should_be[step][rank], shape, "one token");
  }
}

TEST(team, an_absent_rank_is_named) {
  auto options = on_teams(small_exchange(3), 2).group();
  options.config.timeout = options.config.warmup_timeout = std::chrono::milliseconds(300);
  options.params.dispatch_format.reset();  // rows of bf16
  host_group group(options);
  on_every_rank(3, [&](int rank) {
    if (rank == 1) return;
    test::token_batch batch(rank, options.params, {{0, 5, 9, 14}, {3, 4, -1, 1}});
    (void)test::enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->rank, 1);
  });
}

TEST(team, a_rank_that_does_not_combine_is_named) {
  auto options = on_teams(small_exchange(2), 2).group();
  options.config.timeout = options.config.warmup_timeout = std::chrono::milliseconds(300);
  options.params.dispatch_format.reset();  // rows of bf16
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    test::token_batch batch(rank, options.params, {{0, 5, 9, 14}, {3, 4, -1, 1}});
    if (rank == 1) {
      (void)group.instance(rank).dispatch(batch.inputs(), {}, group.stream(rank));
      return group.stream(rank).synchronize();
    }
    (void)test::enqueue_step(group, rank, batch);
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->code, fault_code::timeout);
    EXPECT_EQ(fault->phase, phase::combine);
    EXPECT_EQ(fault->rank, 1);
  });
}

TEST(team, a_mismatch_is_seen_by_both) {
  auto options = on_teams(small_exchange(2), 2).group();
  options.config.timeout = options.config.warmup_timeout = std::chrono::seconds(40);
  options.params.dispatch_format.reset();  // rows of bf16
  host_group group(options);
  on_every_rank(2, [&](int rank) {
    test::token_batch batch(rank, options.params, {{0, 5, 9, 10}});
    (void)group.instance(rank).dispatch(batch.inputs(), {rank == 0 ? 33 : 70}, group.stream(rank));
    group.stream(rank).synchronize();
    const auto fault = group.instance(rank).status();
    ASSERT_TRUE(fault) << "rank " << rank;
    EXPECT_EQ(fault->code, fault_code::step_mismatch);
    EXPECT_EQ(fault->field, step_field::runtime_max_tokens_per_rank);
    EXPECT_EQ(fault->expected, rank == 0 ? 33U : 70U);
    EXPECT_EQ(fault->actual, rank == 0 ? 70U : 33U);
  });
}

}  // namespace
}  // namespace switchyard
