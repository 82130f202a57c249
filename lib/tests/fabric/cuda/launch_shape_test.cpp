// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/launch_shape.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace switchyard::cuda {
namespace {

TEST(cuda_launch_shape, chunks_share_no_bitmap_word_and_every_layout_has_flags_for_them) {
  for (std::uint64_t tokens = 1; tokens < 70000; tokens = tokens * 5 / 4 + 1) {
    for (const std::uint64_t ep_size : {1U, 2U, 8U, 72U, 256U}) {
      const layout::extents smallest{.ep_size = ep_size, .max_tokens = tokens};
      const auto plan = plan_launches(tokens, smallest, {131, true}, 0);
      for (const auto chunk : {plan.dispatch.chunk_tokens, plan.combine.chunk_tokens}) {
        EXPECT_TRUE(std::has_single_bit(chunk)) << tokens;
        EXPECT_LE((tokens + chunk - 1) / chunk, smallest.max_chunks()) << tokens;
      }
      EXPECT_GE(plan.reduce_tokens, 1U) << tokens;
    }
  }
  EXPECT_EQ(dispatch_chunk_tokens(1), 1U);
  EXPECT_EQ(dispatch_chunk_tokens(1024), 1U);
  EXPECT_EQ(dispatch_chunk_tokens(8192), 8U);
}

TEST(cuda_launch_shape, a_launch_has_no_more_blocks_than_roles_places_or_the_callers_bound) {
  const layout::extents pair{.ep_size = 2, .top_k = 8, .max_tokens = 8192};
  EXPECT_EQ(plan_launches(1, pair, {131, true}, 0).dispatch.num_blocks, 1 + 2);
  EXPECT_EQ(plan_launches(1, pair, {131, true}, 0).combine.num_blocks, 2 + 1 + 2 + 1);
  EXPECT_EQ(plan_launches(1, pair, {131, true}, 0).combine.block_threads, 512);
  EXPECT_EQ(plan_launches(8192, pair, {131, true}, 0).combine.num_blocks, 131);
  EXPECT_EQ(plan_launches(8192, pair, {131, true}, 0).combine.block_threads, 256);
  EXPECT_EQ(plan_launches(8192, pair, {16, true}, 0).dispatch.num_blocks, 16);
  EXPECT_EQ(plan_launches(8192, pair, {131, true}, 4).combine.num_blocks, 4);
}

TEST(cuda_launch_shape, all_ranks_of_a_device_and_an_abort_find_room_together) {
  const layout::extents dims{.ep_size = 8, .top_k = 8, .max_tokens = 8192};
  for (int ranks = 1; ranks <= 131 * 4; ++ranks) {
    const auto each = resident_blocks(132, 4, ranks);
    EXPECT_GE(each, 1);
    EXPECT_LE(each * ranks, 131 * 4);
    int before = 0;
    for (const std::uint64_t tokens : {1U, 8U, 64U, 128U, 8192U}) {
      const auto plan = plan_launches(tokens, dims, {each, ranks == 1}, 0);
      for (const auto& phase : {plan.dispatch, plan.combine}) {
        EXPECT_LE(places_of(phase), each);
        if (may_overlap(phase, before, {each, ranks == 1})) {
          EXPECT_LE(places_of(phase) + before, each);
        }
        if (ranks > 1) {
          EXPECT_EQ(phase.block_threads, static_cast<int>(narrow_block));
        }
        before = places_of(phase);
      }
    }
  }
  EXPECT_EQ(resident_blocks(132, 1, 132), 0);
}

TEST(cuda_launch_shape, a_racks_largest_step_has_its_tables_in_a_block) {
  EXPECT_LE(scratch_bytes(8192, {.ep_size = 72, .top_k = 8}), 48U << 10);
  EXPECT_EQ(scratch_bytes(1, {.ep_size = 2, .top_k = 8}), (3U + 2 + 2 + 2) * 4);
}

}  // namespace
}  // namespace switchyard::cuda
