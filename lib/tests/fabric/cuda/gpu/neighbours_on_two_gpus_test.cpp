// SPDX-License-Identifier: Apache-2.0
// Races and neighbours with the ranks on two GPUs, and rows beyond what 32 bits count.
#include "large_rows.hpp"
#include "rare_race.hpp"
#include "shared_device.hpp"

namespace switchyard {
namespace {

class two_gpus_shared : public test::gpu_test<2> {};

TEST_F(two_gpus_shared, b11_a_step_in_a_part_of_each_gpu) { test::expect_a_step_beside_holders(2, 4096, {16, 8, 1}); }

TEST_F(two_gpus_shared, b12_a_collective_on_another_stream_in_the_opposite_order) {
  test::expect_steps_beside_meetings(2, 200);
}

TEST_F(two_gpus_shared, b08_no_row_of_combine_is_wrong_in_a_thousand_steps) {
  for (const std::int64_t tokens : {256, 1024}) {
    EXPECT_EQ(test::all_to_rank_0(4, tokens, 2, true).wrong_rows(2, 1024), 0U) << tokens;
  }
  EXPECT_EQ(test::all_to_rank_0(4, 256, 8, false).wrong_rows(2, 1024), 0U);
}

TEST_F(two_gpus_shared, b13_a_launch_behind_combine_sees_its_output) {
  for (const std::int64_t tokens : {1, 2, 4}) {
    test::expect_no_poison_in_copies(2, tokens, choice::on, 1000);
    test::expect_no_poison_in_copies(2, tokens, choice::off, 1000);
  }
}

TEST_F(two_gpus_shared, b02_offsets_beyond_32_bits) { test::expect_exact_rows_beyond_32_bits(2); }

}  // namespace
}  // namespace switchyard
