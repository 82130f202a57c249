// SPDX-License-Identifier: Apache-2.0
#include "protocol/lamport_words.hpp"

#include <gtest/gtest.h>

#include <random>

#include "layout/lamport_row.hpp"
#include "protocol/lamport_rows.hpp"

namespace switchyard::protocol {
namespace {

TEST(lamport_words, none_that_is_sent_is_armed_and_each_comes_back) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> payloads{0, 1, 2, all_ones, all_ones - 1, std::uint64_t{1} << 63, 0xFFFFFFFFULL};
  for (int i = 0; i < 1000; ++i) payloads.push_back(random());
  for (const auto payload : payloads) {
    EXPECT_NE(encoded(payload), armed) << payload;
    EXPECT_EQ(decoded(encoded(payload), payload == all_ones), payload);
  }
  EXPECT_EQ(encoded(all_ones), encoded(all_ones - 1)) << "the two that travel as a stand-in";
}

TEST(lamport_words, a_unit_of_any_two_words_comes_back) {
  const std::uint64_t words[]{0, 1, all_ones, all_ones - 1, 0x7FFF7FFF7FFF7FFF};
  for (const auto first : words) {
    for (const auto second : words) {
      const word_pair payload{first, second};
      const auto sent = encoded(payload);
      EXPECT_FALSE(is_armed(sent));
      EXPECT_EQ(has_stand_in(sent), first >= all_ones - 1 || second >= all_ones - 1);
      EXPECT_NE(exceptions_of(payload), armed) << "it is a word of Lamport memory, too";
      EXPECT_EQ(decoded(sent, has_stand_in(sent) ? exceptions_of(payload) : 0), payload);
    }
  }
  EXPECT_TRUE(is_armed(word_pair{armed, 1}));
  EXPECT_TRUE(is_armed(word_pair{1, armed}));
}

TEST(lamport_words, a_row_has_room_for_a_word_beside_every_unit) {
  for (std::uint64_t units = 1; units < 2000; ++units) {
    EXPECT_EQ(layout::exception_word_of(units, 0), 2 * units) << "behind the units";
    EXPECT_LE((layout::exception_word_of(units, units - 1) + 1) * 8, layout::lamport_stride(units));
    EXPECT_EQ(layout::lamport_stride(units) % 128, 0U);
  }
}

TEST(lamport_words, units_lie_within_their_payloads) {
  const std::byte data[3][64]{};
  payload_list payloads;
  payloads.add(data[0], 40, 1000);
  payloads.add(nullptr, 0, 0);  // travels, and takes nothing
  payloads.add(data[1], 16, 2000);
  payloads.add(data[2], 4, 3000);
  ASSERT_EQ(payloads.units_of_row(), 5U);
  const auto expect = [&](std::uint32_t unit, const std::byte* in, std::uint64_t out, std::uint32_t bytes) {
    const auto located = locate(payloads, unit);
    EXPECT_EQ(located.in, in) << unit;
    EXPECT_EQ(located.out, out) << unit;
    EXPECT_EQ(located.bytes, bytes) << unit;
  };
  expect(0, data[0], 1000, 16);
  expect(1, data[0] + 16, 1016, 16);
  expect(2, data[0] + 32, 1032, 8);
  expect(3, data[1], 2000, 16);
  expect(4, data[2], 3000, 4);
  expect(5, nullptr, 0, 0);
  EXPECT_FALSE(locate(payloads, 0).wide());
  EXPECT_TRUE(locate(payloads, 3).wide());
}

}  // namespace
}  // namespace switchyard::protocol
