// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

using counts = std::vector<std::int32_t>;

TEST(statistics, count_every_choice_of_every_expert_that_there_is) {
  const rank_routing routing{3, {0, 3, 3, 3, -1, 4}};
  EXPECT_EQ(count_experts(routing, 4), (counts{1, 0, 0, 3})) << "-1 and 4 name none of the four";
  EXPECT_EQ(count_experts(routing, 5), (counts{1, 0, 0, 3, 1}));
  EXPECT_EQ(count_experts(routing, 0), counts{});
  EXPECT_EQ(count_experts({0, {}}, 2), (counts{0, 0}));
  EXPECT_THROW((void)count_experts(routing, -1), invalid_argument);
}

// 4 ranks, 16 experts, top 2, n = 8, 16, 0, 24, five rows of -1: each rank has the same, and all of it is 2 * 48 - 10.
TEST(statistics, b28_are_of_all_experts_and_not_of_local_ones) {
  std::vector<counts> of_ranks;
  std::int32_t invalid_rows = 5;
  for (const int num_tokens : {8, 16, 0, 24}) {
    rank_routing routing{num_tokens, {}};
    for (int t = 0; t < num_tokens; ++t) {
      const bool none = num_tokens == 24 && invalid_rows-- > 0;
      routing.topk_ids.push_back(none ? -1 : t % 16);
      routing.topk_ids.push_back(none ? -1 : (t + 5) % 16);
    }
    of_ranks.push_back(count_experts(routing, 16));
  }
  const auto gathered = gather_statistics(of_ranks);
  ASSERT_EQ(gathered.size(), 64U);
  std::int32_t total = 0;
  for (const auto each : gathered) total += each;
  EXPECT_EQ(total, 86);
  EXPECT_EQ(counts(gathered.begin(), gathered.begin() + 16), of_ranks[0]);
  EXPECT_EQ(gathered[16], 2) << "rank 1 chooses expert 0 with tokens 0 and 11";
  EXPECT_EQ(counts(gathered.begin() + 32, gathered.begin() + 48), counts(16, 0)) << "rank 2 has no tokens";
}

TEST(statistics, of_a_rank_that_is_off_are_zero) {
  rank_set active{};
  insert(active, 0);
  insert(active, 2);
  EXPECT_EQ(gather_statistics(std::vector<counts>{{1, 2}, {3, 4}, {5, 6}}, active), (counts{1, 2, 0, 0, 5, 6}));
  EXPECT_THROW((void)gather_statistics(std::vector<counts>{{1, 2}, {3}}), invalid_argument);
}

}  // namespace
}  // namespace switchyard::reference
