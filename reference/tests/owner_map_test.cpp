// SPDX-License-Identifier: Apache-2.0
// The owner map against splits written out on paper and against a walk over the ranks.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

std::vector<int> owners_of_all(std::int64_t num_experts, int ep_size) {
  std::vector<int> owners;
  for (std::int64_t expert = 0; expert < num_experts; ++expert)
    owners.push_back(owner_of(expert, num_experts, ep_size));
  return owners;
}

TEST(owner_map, splits_written_out) {
  EXPECT_EQ(owners_of_all(8, 4), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(owners_of_all(10, 4), (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(owners_of_all(7, 3), (std::vector<int>{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(owners_of_all(5, 5), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(owners_of_all(3, 1), (std::vector<int>{0, 0, 0}));
}

// 30 experts on 8 ranks once came out as seven times 3 and a last rank with 9.
TEST(owner_map, no_rank_owns_the_whole_remainder) {
  std::vector<int> experts_per_rank(8, 0);
  for (const int owner : owners_of_all(30, 8)) ++experts_per_rank.at(static_cast<std::size_t>(owner));
  EXPECT_EQ(experts_per_rank, (std::vector<int>{4, 4, 4, 4, 4, 4, 3, 3}));
}

TEST(owner_map, a_full_rack_with_uneven_owners) {  // 256 = 72 * 3 + 40
  EXPECT_EQ(owner_of(159, 256, 72), 39);           // 40 ranks own four each: 0 .. 159
  EXPECT_EQ(owner_of(160, 256, 72), 40);
  EXPECT_EQ(owner_of(162, 256, 72), 40);
  EXPECT_EQ(owner_of(163, 256, 72), 41);
  EXPECT_EQ(owner_of(255, 256, 72), 71);
}

TEST(owner_map, agrees_with_a_walk_over_the_ranks) {
  for (const int ep_size : {1, 2, 3, 5, 6, 7, 8, 9, 24, 72, 256}) {
    for (std::int64_t num_experts = ep_size; num_experts < 2 * ep_size + 40; ++num_experts) {
      std::vector<int> walked;
      for (int rank = 0; rank < ep_size; ++rank) {
        const std::int64_t owned = num_experts / ep_size + (rank < num_experts % ep_size ? 1 : 0);
        walked.insert(walked.end(), static_cast<std::size_t>(owned), rank);
      }
      ASSERT_EQ(owners_of_all(num_experts, ep_size), walked) << num_experts << " experts on " << ep_size << " ranks";
    }
  }
}

TEST(owner_map, ids_outside_the_range_have_no_owner) {
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{10}, std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}}) {
    EXPECT_EQ(owner_of(id, 10, 4), -1) << id;
  }
}

TEST(owner_map, fewer_experts_than_ranks_leaves_late_ranks_without) {
  EXPECT_EQ(owners_of_all(3, 5), (std::vector<int>{0, 1, 2}));
}

TEST(owner_map, refuses_a_group_without_ranks) { EXPECT_THROW(owner_of(0, 1, 0), invalid_argument); }

TEST(owners_in_slot_order, first_slot_decides) {
  const std::vector<std::int32_t> ids{9, 0, 8, 4, 2, 3};  // owners 3 0 3 1 0 1 of sizes 3,3,2,2
  EXPECT_EQ(owners_in_slot_order(ids, 10, 4), (std::vector<int>{3, 0, 1}));
}

TEST(owners_in_slot_order, invalid_ids_are_no_expert_wherever_they_stand) {
  EXPECT_EQ(owners_in_slot_order(std::vector<std::int32_t>{-1, 9, 0}, 10, 4), (std::vector<int>{3, 0}));
  EXPECT_EQ(owners_in_slot_order(std::vector<std::int32_t>{9, -1, 0}, 10, 4), (std::vector<int>{3, 0}));
  EXPECT_EQ(owners_in_slot_order(std::vector<std::int32_t>{9, 0, 10}, 10, 4), (std::vector<int>{3, 0}));
  EXPECT_TRUE(owners_in_slot_order(std::vector<std::int32_t>{-1, 10, INT32_MIN, INT32_MAX}, 10, 4).empty());
  EXPECT_TRUE(owners_in_slot_order({}, 10, 4).empty());
}

TEST(owners_in_slot_order, one_expert_in_every_slot_is_one_owner) {
  EXPECT_EQ(owners_in_slot_order(std::vector<std::int32_t>(8, 3), 16, 2), (std::vector<int>{0}));
}

}  // namespace
}  // namespace switchyard::reference
