// SPDX-License-Identifier: Apache-2.0
#include "fabric/host/host_policy.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "layout/workspace_layout.hpp"

namespace switchyard::host {
namespace {

TEST(host_policy, chunks_suit_bitmap_words_and_the_flags_there_are) {
  for (std::uint64_t capacity : {1U, 7U, 32U, 33U, 1000U, 1024U, 1025U, 8192U, 65536U}) {
    const layout::extents dims{.max_tokens = capacity};
    for (std::uint64_t t = 1; t <= capacity; t += t < 300 ? 1 : 61) {
      const auto plan = plan_launches(t, dims.max_chunks(), 1, 0);
      for (const auto chunk : {plan.dispatch.chunk_tokens, plan.combine.chunk_tokens}) {
        ASSERT_TRUE(std::has_single_bit(chunk)) << "T " << t << " chunk " << chunk;
        ASSERT_LE((t + chunk - 1) / chunk, dims.max_chunks()) << "T " << t;
      }
      ASSERT_GE(plan.reduce_tokens, 1U);
    }
  }
}

TEST(host_policy, chunk_tokens_depend_on_T_only) {
  for (std::uint64_t t : {1U, 16U, 256U, 4096U}) {
    EXPECT_EQ(plan_launches(t, 1024, 1, 0).dispatch.chunk_tokens, plan_launches(t, 1024, 8, 3).dispatch.chunk_tokens);
  }
}

TEST(host_policy, blocks_are_the_workers_unless_bounded) {
  EXPECT_EQ(plan_launches(16, 1024, 4, 0).dispatch.num_blocks, 4);
  EXPECT_EQ(plan_launches(16, 1024, 4, 3).combine.num_blocks, 3);
  EXPECT_EQ(plan_launches(16, 1024, 1, 3).dispatch.num_blocks, 3);
}

}  // namespace
}  // namespace switchyard::host
