// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/launch_shape.hpp"

#include <gtest/gtest.h>

namespace switchyard::cuda {
namespace {

TEST(cuda_launch_shape, chunks_share_no_bitmap_word_and_every_layout_has_flags_for_them) {
  for (std::uint64_t tokens = 1; tokens < 70000; tokens = tokens * 5 / 4 + 1) {
    const auto chunk = chunk_tokens_for(tokens);
    EXPECT_TRUE(chunk >= 32 ? chunk % 32 == 0 : 32 % chunk == 0) << tokens;
    const auto chunks = (tokens + chunk - 1) / chunk;
    layout::extents smallest;
    smallest.max_tokens = tokens;
    EXPECT_LE(chunks, smallest.max_chunks()) << tokens;
    EXPECT_LE(chunks, 128U) << tokens;
  }
  EXPECT_EQ(chunk_tokens_for(1), 1U);
  EXPECT_EQ(chunk_tokens_for(128), 1U);
  EXPECT_EQ(chunk_tokens_for(8192), 64U);
}

TEST(cuda_launch_shape, a_launch_has_no_more_blocks_than_roles_places_or_the_callers_bound) {
  EXPECT_EQ(plan_phase(1, 2, 131, 0).num_blocks, 5);
  EXPECT_EQ(plan_phase(8192, 2, 131, 0).num_blocks, 131);
  EXPECT_EQ(plan_phase(8192, 2, 16, 0).num_blocks, 16);
  EXPECT_EQ(plan_phase(8192, 2, 131, 4).num_blocks, 4);
}

TEST(cuda_launch_shape, all_ranks_of_a_device_and_an_abort_find_room_together) {
  for (int ranks = 1; ranks <= 131; ++ranks) {
    const auto each = resident_blocks(132, 1, ranks, 1);
    EXPECT_GE(each, 1);
    EXPECT_LE(each * ranks, 131);
    EXPECT_LE(resident_blocks(132, 1, ranks, 2) * ranks * 2, 131);
  }
  EXPECT_EQ(resident_blocks(132, 1, 132, 1), 0);
}

TEST(cuda_launch_shape, a_racks_largest_step_has_its_tables_in_a_block) {
  EXPECT_LE(scratch_bytes(8192, {.ep_size = 72, .top_k = 8}), 48U << 10);
  EXPECT_EQ(scratch_bytes(1, {.ep_size = 2, .top_k = 8}), 2U * (1 + 2) * 4 + 2 * 8);
}

}  // namespace
}  // namespace switchyard::cuda
