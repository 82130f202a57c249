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
  EXPECT_EQ(encoded(all_ones), encoded(all_ones - 1)) << "the two that the list of exceptions tells apart";
}

TEST(lamport_words, what_stands_behind_a_row_is_never_armed) {
  for (const bool exceptions : {false, true}) {
    const auto trailer = trailer_of(0, exceptions);
    EXPECT_NE(trailer, armed);
    EXPECT_EQ(has_exceptions(trailer), exceptions);
    EXPECT_EQ(slot_of(trailer_of(31, exceptions)), 31U);
  }
  EXPECT_NE(exception_word(0), armed);
  EXPECT_EQ(exception_bits(exception_word(~std::uint32_t{0})), ~std::uint32_t{0});
}

TEST(lamport_words, a_unit_tells_which_of_its_words_are_exceptions) {
  EXPECT_EQ(exceptions_in(0, 1), 0U);
  EXPECT_EQ(exceptions_in(all_ones, all_ones - 1), 1U);
  EXPECT_EQ(exceptions_in(~all_ones, all_ones), 2U);
  EXPECT_EQ(exceptions_in(all_ones, all_ones), 3U);
}

TEST(lamport_words, a_row_has_room_for_a_bit_of_every_word) {
  for (std::uint64_t units = 1; units < 2000; ++units) {
    EXPECT_GE(layout::exception_words(units) * 32, 2 * units);
    EXPECT_LT((layout::exception_words(units) - 1) * 32, 2 * units);
    EXPECT_GE(layout::lamport_stride(units), (2 * units + 2 + layout::exception_words(units)) * 8);
    EXPECT_EQ(layout::lamport_stride(units) % 128, 0U);
  }
}

TEST(lamport_words, units_lie_within_their_payloads) {
  payload_list payloads;
  payloads.add(nullptr, 40, 0);
  payloads.add(nullptr, 0, 0);  // travels, and takes nothing
  payloads.add(nullptr, 16, 0);
  payloads.add(nullptr, 4, 0);
  ASSERT_EQ(payloads.units_of_row(), 5U);
  const auto expect = [&](std::uint32_t unit, std::uint32_t payload, std::uint32_t offset, std::uint32_t bytes) {
    const auto place = place_of(payloads, unit);
    EXPECT_EQ(place.payload, payload) << unit;
    EXPECT_EQ(place.offset, offset) << unit;
    EXPECT_EQ(place.bytes, bytes) << unit;
  };
  expect(0, 0, 0, 16);
  expect(1, 0, 16, 16);
  expect(2, 0, 32, 8);
  expect(3, 1, 0, 16);
  expect(4, 2, 0, 4);
}

}  // namespace
}  // namespace switchyard::protocol
