// SPDX-License-Identifier: Apache-2.0
// The order of the sum: cases whose bits differ by order, worked out on paper.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "rows.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

using tests::combine_element;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr auto slots = sum_order::slot_order;
constexpr auto ranks = sum_order::rank_order;
constexpr auto tree = sum_order::balanced_tree;

// fp32 has 24 significant bits: 2^24 + 1 is a tie and falls back to 2^24.
constexpr u32 big = 0x4B800000;  // 2^24; its upper neighbours are 2^24 + 2 and 2^24 + 4
constexpr u32 one = 0x3F800000;
constexpr u32 zero = 0;

TEST(combine_order, fp32_four_rows) {
  const std::vector<u32> rows{big, one, one, one};
  const std::vector<int> owners{3, 0, 1, 2};
  EXPECT_EQ(combine_element(rows, dtype::fp32, slots, owners), 0x4B800000U);  // each 1 is lost
  EXPECT_EQ(combine_element(rows, dtype::fp32, ranks, owners), 0x4B800002U);  // 3 + 2^24: a tie, up to even
  EXPECT_EQ(combine_element(rows, dtype::fp32, tree, owners), 0x4B800001U);   // 2^24 + (1 + 1)
}

TEST(combine_order, bf16_four_rows) {  // 2^24, 1, 1, -2^24: what fp32 lost shows after the cancellation
  const std::vector<u16> rows{0x4B80, 0x3F80, 0x3F80, 0xCB80};
  const std::vector<int> owners{2, 0, 1, 3};
  EXPECT_EQ(combine_element(rows, dtype::bf16, slots, owners), 0x0000);  // 0
  EXPECT_EQ(combine_element(rows, dtype::bf16, ranks, owners), 0x4000);  // 2
  EXPECT_EQ(combine_element(rows, dtype::bf16, tree, owners), 0x3F80);   // 2^24 + (1 - 2^24) = 1
}

TEST(combine_order, fp16_four_rows) {  // 2^15, 2^-9, 2^-9, -2^15: 2^-9 is half of the last place of 2^15 in fp32
  const std::vector<u16> rows{0x7800, 0x1800, 0x1800, 0xF800};
  const std::vector<int> owners{2, 0, 1, 3};
  EXPECT_EQ(combine_element(rows, dtype::fp16, slots, owners), 0x0000);  // 0
  EXPECT_EQ(combine_element(rows, dtype::fp16, ranks, owners), 0x1C00);  // 2^-8
  EXPECT_EQ(combine_element(rows, dtype::fp16, tree, owners), 0x1800);   // 2^15 + (2^-9 - 2^15) = 2^-9
}

TEST(combine_order, tree_lets_an_odd_row_move_up_unchanged) {
  // Three: (a + b) + c. Were it a + (b + c), both ones would count.
  EXPECT_EQ(combine_element<u32>({big, one, one}, dtype::fp32, tree), 0x4B800000U);
  // Five: ((a + b) + (c + d)) + e. Were e added to c + d first, it would be 2^24 + 2.
  EXPECT_EQ(combine_element<u32>({big, zero, one, zero, one}, dtype::fp32, tree), 0x4B800000U);
  // Six: ((a + b) + (c + d)) + (e + f).
  EXPECT_EQ(combine_element<u32>({big, zero, one, zero, one, one}, dtype::fp32, tree), 0x4B800001U);
  // Seven: ((a + b) + (c + d)) + ((e + f) + g): 2^24 + 3, a tie, up to even.
  EXPECT_EQ(combine_element<u32>({big, zero, one, zero, one, one, one}, dtype::fp32, tree), 0x4B800002U);
}

TEST(combine_order, rank_order_ignores_the_order_of_slots) {
  EXPECT_EQ(combine_element<u32>({one, one, big}, dtype::fp32, ranks, {7, 9, 2}), 0x4B800000U);
  EXPECT_EQ(combine_element<u32>({big, one, one}, dtype::fp32, ranks, {2, 7, 9}), 0x4B800000U);
  EXPECT_EQ(combine_element<u32>({one, big, one}, dtype::fp32, ranks, {0, 9, 2}), 0x4B800001U);
}

TEST(combine_order, slot_order_ignores_the_owners) {
  for (const std::vector<int>& owners : {std::vector<int>{0, 1, 2}, std::vector<int>{2, 1, 0}}) {
    EXPECT_EQ(combine_element<u32>({big, one, one}, dtype::fp32, slots, owners), 0x4B800000U);
    EXPECT_EQ(combine_element<u32>({one, one, big}, dtype::fp32, slots, owners), 0x4B800001U);
  }
}

// Rounded to bf16 after every term, the sum is 258 when 256 comes first: 256 + 1 is a tie and falls back.
TEST(combine_order, one_rounding_at_the_end_gives_264_wherever_256_stands) {
  constexpr u16 bf16_264 = 0x4384;  // 1.03125 * 2^8
  for (const sum_order order : {slots, ranks, tree}) {
    for (std::size_t position = 0; position < 8; ++position) {
      std::vector<u16> rows{0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x4000};  // six ones and a two
      rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(position), 0x4380);      // 256
      EXPECT_EQ(combine_element(rows, dtype::bf16, order), bf16_264) << position;
    }
  }
}

TEST(combine_order, an_order_that_is_none_is_refused) {
  EXPECT_THROW(combine_element<u32>({one, one}, dtype::fp32, static_cast<sum_order>(9)), invalid_argument);
}

}  // namespace
}  // namespace switchyard::reference
