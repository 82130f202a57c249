// SPDX-License-Identifier: Apache-2.0
#include "protocol/routing.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace switchyard::protocol {
namespace {

TEST(expert_map, the_first_ranks_own_one_more) {
  const expert_map experts{10, 4};  // sizes 3, 3, 2, 2
  const std::vector<std::int32_t> owners{0, 0, 0, 1, 1, 1, 2, 2, 3, 3};
  for (std::int32_t e = 0; e < 10; ++e) EXPECT_EQ(experts.owner_of(e), owners[static_cast<std::size_t>(e)]) << e;
  EXPECT_EQ(experts.owner_of(-1), -1);
  EXPECT_EQ(experts.owner_of(10), -1);
  EXPECT_EQ(experts.owner_of(INT32_MIN), -1);
  EXPECT_EQ(experts.owner_of(INT32_MAX), -1);
}

TEST(expert_map, distinct_owners_come_in_slot_order) {
  const expert_map experts{10, 4};
  const std::array<std::int32_t, 7> ids{9, -1, 0, 8, 0, 4, 10};
  std::vector<std::int32_t> owners;
  experts.for_each_owner(ids.data(), 7, [&](std::int32_t rank) { owners.push_back(rank); });
  EXPECT_EQ(owners, (std::vector<std::int32_t>{3, 0, 1}));
}

TEST(count_bits, counts_within_any_bounds) {
  const std::array<std::uint32_t, 3> words{0x80000001U, 0xFFFFFFFFU, 0x5U};
  const auto at = [&](std::uint64_t w) { return words[w]; };
  const auto slow = [&](std::uint64_t first, std::uint64_t last) {
    std::uint32_t count = 0;
    for (auto b = first; b < last; ++b) count += words[b / 32] >> (b % 32) & 1U;
    return count;
  };
  for (std::uint64_t first = 0; first <= 96; ++first) {
    for (auto last = first; last <= 96; ++last) ASSERT_EQ(count_bits(at, first, last), slow(first, last));
  }
}

}  // namespace
}  // namespace switchyard::protocol
