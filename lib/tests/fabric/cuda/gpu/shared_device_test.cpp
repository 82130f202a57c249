// SPDX-License-Identifier: Apache-2.0
// Races and neighbours with all ranks on one GPU.
#include "shared_device.hpp"
#include "rare_race.hpp"

namespace switchyard {
namespace {

class one_gpu : public test::gpu_test<1> {};

// The one rank that there is has its peers on no other GPU: its launch must end in what room there is.
TEST_F(one_gpu, b11_a_step_in_a_part_of_the_gpu) { test::expect_a_step_beside_holders(1, 4096, {16, 8, 1}); }

TEST_F(one_gpu, b08_no_row_of_combine_is_wrong_in_a_thousand_steps) {
  for (const std::int64_t tokens : {256, 1024}) {
    EXPECT_EQ(test::all_to_rank_0(4, tokens, 2, true).wrong_rows(1, 1024), 0U) << tokens;
  }
  EXPECT_EQ(test::all_to_rank_0(4, 256, 8, false).wrong_rows(1, 1024), 0U);
}

TEST_F(one_gpu, b13_a_launch_behind_combine_sees_its_output) {
  for (const std::int64_t tokens : {1, 2, 4}) {
    test::expect_no_poison_in_copies(1, tokens, choice::automatic, 1000);
    test::expect_no_poison_in_copies(1, tokens, choice::off, 1000);
  }
}

}  // namespace
}  // namespace switchyard
