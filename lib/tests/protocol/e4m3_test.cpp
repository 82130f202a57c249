// SPDX-License-Identifier: Apache-2.0
// Elements and scales of low precision, by values worked out by hand.
#include "protocol/e4m3.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace switchyard::protocol {
namespace {

TEST(e4m3, is_exact_for_every_value_that_it_has) {
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    const auto exponent = static_cast<int>(bits >> 3 & 15U);
    const auto fraction = static_cast<int>(bits & 7U);
    const double places = exponent == 0 ? fraction : 8 + fraction;
    const double magnitude = std::ldexp(places, (exponent == 0 ? 1 : exponent) - 10);
    const double value = (bits & 0x80U) != 0 ? -magnitude : magnitude;
    const float read = from_e4m3(static_cast<std::uint8_t>(bits));
    if ((bits & 0x7FU) == 0x7FU) {
      EXPECT_TRUE(std::isnan(read));
      continue;
    }
    EXPECT_EQ(read, value) << bits;
    EXPECT_EQ(to_e4m3(static_cast<float>(value)), bits) << value;
  }
}

TEST(e4m3, rounds_ties_to_even_and_what_is_off_them_to_the_nearest) {
  for (std::uint32_t bits = 0; bits < 0x7E; ++bits) {
    const float low = from_e4m3(static_cast<std::uint8_t>(bits));
    const float high = from_e4m3(static_cast<std::uint8_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: a bit more than e4m3 has
    EXPECT_EQ(to_e4m3(middle), bits % 2 == 0 ? bits : bits + 1) << middle;
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 0.0F)), bits) << middle;
    EXPECT_EQ(to_e4m3(std::nextafter(middle, 1000.0F)), bits + 1) << middle;
    EXPECT_EQ(to_e4m3(-middle), 0x80U | (bits % 2 == 0 ? bits : bits + 1)) << middle;
  }
}

TEST(e4m3, saturates_and_keeps_nan_and_the_sign_of_zero) {
  for (const float value : {448.0F, 464.0F, 1e38F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(to_e4m3(value), 0x7E) << value;
    EXPECT_EQ(to_e4m3(-value), 0xFE) << value;
  }
  EXPECT_EQ(to_e4m3(std::numeric_limits<float>::quiet_NaN()), 0x7F);
  EXPECT_EQ(to_e4m3(std::bit_cast<float>(0xFF800001U)), 0x7F);
  EXPECT_EQ(to_e4m3(0.0F), 0x00);
  EXPECT_EQ(to_e4m3(-0.0F), 0x80);
  EXPECT_EQ(to_e4m3(-std::numeric_limits<float>::denorm_min()), 0x80);
}

TEST(e4m3, the_scale_is_1_without_a_finite_largest_magnitude) {
  EXPECT_EQ(scale_of(std::bit_cast<std::uint32_t>(896.0F)), 2.0F);
  EXPECT_EQ(scale_of(std::bit_cast<std::uint32_t>(1.0F)), 1.0F / 448.0F);
  EXPECT_EQ(scale_of(0), 1.0F);
  EXPECT_EQ(scale_of(0x7F800000U), 1.0F);
  EXPECT_EQ(scale_of(0x7FC00000U), 1.0F);
  EXPECT_EQ(scale_of(224), 1.0F) << "half of the least fp32 rounds to 0";
  EXPECT_EQ(scale_of(225), std::numeric_limits<float>::denorm_min());
}

}  // namespace
}  // namespace switchyard::protocol
