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

TEST(expert_map, a_range_holds_the_experts_of_its_rank) {
  for (const std::int32_t ep_size : {1, 3, 4, 72, 256}) {
    for (const std::int64_t num_experts : {std::int64_t{256}, std::int64_t{300}, std::int64_t{INT32_MAX}}) {
      const expert_map experts{num_experts, ep_size};
      std::uint32_t end = 0;
      for (std::int32_t rank = 0; rank < ep_size; ++rank) {
        const auto own = experts.experts_of(rank);
        ASSERT_EQ(own.first, end) << "rank " << rank << " of " << ep_size << ", experts " << num_experts;
        ASSERT_EQ(experts.owner_of(static_cast<std::int32_t>(own.first)), rank);
        ASSERT_EQ(experts.owner_of(static_cast<std::int32_t>(own.last - 1)), rank);
        end = own.last;
      }
      ASSERT_EQ(end, static_cast<std::uint32_t>(num_experts));
    }
  }
}

TEST(expert_map, distinct_owners_come_in_slot_order) {
  const expert_map experts{10, 4};
  const std::array<std::int32_t, 7> ids{9, -1, 0, 8, 0, 4, 10};
  std::vector<std::int32_t> owners;
  experts.for_each_owner(ids.data(), 7, [&](std::uint32_t slot, std::int32_t rank) {
    EXPECT_EQ(slot, owners.size());
    owners.push_back(rank);
  });
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

TEST(routing, slots_close_up_over_ranks_that_are_masked_off) {
  const std::array<std::int32_t, 12> ids{6, 4, 0, 5, 2, 7, /**/ -1, 4, 5, 4, 8, 4};
  rank_set mask{};
  for (const int rank : {0, 1, 3}) insert(mask, rank);
  const token_ids routing{ids.data(), 2, 6, {8, 4}, active_ranks(&mask)};
  std::vector<std::int32_t> owners;
  for (std::uint64_t token = 0; token < 2; ++token) {
    routing.for_each_owner(ids.data() + 6 * token, [&](std::uint32_t slot, std::int32_t rank) {
      EXPECT_EQ(slot, owners.size());
      owners.push_back(rank);
    });
  }
  EXPECT_EQ(owners, (std::vector<std::int32_t>{3, 0, 1}));
  EXPECT_EQ(routing.owner_of<true>(4), -1);
  EXPECT_EQ(routing.owner_of<true>(6), 3);
  EXPECT_EQ(routing.active.bits_from(0), 0b1011U);
  EXPECT_EQ(active_ranks().bits_from(224), ~0U);
}

}  // namespace
}  // namespace switchyard::protocol
