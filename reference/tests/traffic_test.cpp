// SPDX-License-Identifier: Apache-2.0
// Bytes of a step, counted on paper.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference {
namespace {

using tests::shape_of;
using four = std::array<std::uint64_t, 4>;

four bytes(const traffic& of) {
  return {of.selection_bytes, of.unique_bytes, of.remote_send_bytes, of.remote_recv_bytes};
}

// 4 experts on 2 ranks: 0-1, 2-3.
TEST(traffic, selections_ranks_and_remote_are_told_apart) {
  const std::vector<rank_routing> routing{
      {3, {0, 1, 2, /**/ 2, 3, 2, /**/ -1, 1, -1}},  // to {0, 1}, {1}, {0}
      {1, {3, 3, -1}},                               // to {1}
  };
  const auto ranks = count_traffic(shape_of(2, 4, 3, 4), routing, 10);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(bytes(ranks[0]), (four{70, 40, 20, 0}));
  EXPECT_EQ(bytes(ranks[1]), (four{20, 10, 0, 20}));
}

// A reported rate once passed the limit of the link, because rows that a rank kept were counted as sent.
TEST(traffic, rows_that_stay_are_not_remote) {
  const auto local = count_traffic(shape_of(2, 2, 1, 2), std::vector<rank_routing>{{2, {0, 0}}, {2, {1, 1}}}, 7);
  for (const traffic& of : local) EXPECT_EQ(bytes(of), (four{14, 14, 0, 0}));
  const auto remote = count_traffic(shape_of(2, 2, 1, 2), std::vector<rank_routing>{{2, {1, 1}}, {2, {0, 0}}}, 7);
  for (const traffic& of : remote) EXPECT_EQ(bytes(of), (four{14, 14, 14, 14}));
}

TEST(traffic, padding_moves_nothing) {
  const auto ranks =
      count_traffic(shape_of(2, 4, 2, 3), std::vector<rank_routing>{{3, std::vector<int>(6, -1)}, {}}, 9);
  for (const traffic& of : ranks) EXPECT_EQ(bytes(of), (four{0, 0, 0, 0}));
}

TEST(traffic, does_not_wrap_at_32_bits) {
  const auto ranks = count_traffic(shape_of(2, 2, 1, 3), std::vector<rank_routing>{{3, {1, 1, 1}}, {}}, 0x8000'0000);
  EXPECT_EQ(bytes(ranks[0]), (four{0x1'8000'0000, 0x1'8000'0000, 0x1'8000'0000, 0}));
  EXPECT_EQ(bytes(ranks[1]), (four{0, 0, 0, 0x1'8000'0000}));
}

}  // namespace
}  // namespace switchyard::reference
