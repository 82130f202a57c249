// SPDX-License-Identifier: Apache-2.0
// Every role of a combine that sends, once.
#include "protocol/combine_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace switchyard::protocol {
namespace {

TEST(combine_order, holds_every_role_once_and_headers_first) {
  for (const std::uint32_t chunks : {1U, 2U, 7U, 64U}) {
    for (const std::int32_t ranks : {1, 2, 5, 72}) {
      const auto self = ranks / 2;
      const combine_order order(chunks, ranks, self);
      std::set<std::tuple<combine_work, std::int32_t, std::uint32_t>> seen;
      std::uint32_t last_chunk = 0;
      for (std::uint32_t t = 0; t < order.size(); ++t) {
        const auto role = order.at(t);
        ASSERT_TRUE(role.rank >= 0 && role.rank < ranks);
        ASSERT_TRUE(seen.insert({role.work, role.rank, role.chunk}).second) << "ticket " << t;
        ASSERT_EQ(role.work == combine_work::tell, t < static_cast<std::uint32_t>(ranks));
        if (role.work != combine_work::send) continue;
        ASSERT_NE(role.rank, self);
        ASSERT_GE(role.chunk, last_chunk) << "a later chunk before an earlier one";
        ASSERT_LT(role.chunk, chunks);
        last_chunk = role.chunk;
      }
      ASSERT_EQ(seen.size(), static_cast<std::size_t>(ranks) + chunks * static_cast<std::size_t>(ranks - 1));
    }
  }
}

TEST(combine_order, sends_begin_with_the_next_rank) {
  const combine_order order(1, 4, 2);
  EXPECT_EQ(order.at(4).rank, 3);
  EXPECT_EQ(order.at(5).rank, 0);
  EXPECT_EQ(order.at(6).rank, 1);
}

}  // namespace
}  // namespace switchyard::protocol
