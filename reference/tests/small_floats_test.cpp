// SPDX-License-Identifier: Apache-2.0
// The small floating-point types against their published tables, and rounding against a search over all values.
#include "switchyard/reference/small_floats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace switchyard::reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// The code of the nearest of codes 0 .. last, on a tie the even one, by looking at each. Not for NaN.
template <typename Widen>
unsigned nearest(float value, unsigned last, unsigned sign_bit, Widen widen) {
  const double wanted = std::fabs(static_cast<double>(value));
  unsigned best = 0;
  for (unsigned code = 1; code <= last; ++code) {
    const double now = std::fabs(wanted - static_cast<double>(widen(static_cast<std::uint8_t>(best))));
    const double then = std::fabs(wanted - static_cast<double>(widen(static_cast<std::uint8_t>(code))));
    if (then < now || (then == now && code % 2 == 0)) best = code;
  }
  if (wanted >= static_cast<double>(widen(static_cast<std::uint8_t>(last)))) best = last;
  return best | (std::signbit(value) ? sign_bit : 0U);
}

/// Every value of a type, the middle between neighbours, and what is next to both; and random bits.
template <typename Widen>
std::vector<float> interesting(unsigned last, Widen widen) {
  std::vector<float> values{
      0.0F, -0.0F, infinity, -infinity, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()};
  for (unsigned code = 0; code <= last; ++code) {
    const float value = widen(static_cast<std::uint8_t>(code));
    const float next = code == last ? 2 * value : widen(static_cast<std::uint8_t>(code + 1));
    for (const float about : {value, (value + next) / 2}) {
      for (const float sign : {1.0F, -1.0F}) {
        values.push_back(sign * about);
        values.push_back(sign * std::nextafter(about, 0.0F));
        values.push_back(sign * std::nextafter(about, infinity));
      }
    }
  }
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

// OCP FP8, table of e4m3: the largest 448, the smallest normal 2^-6, the largest subnormal 0.875 * 2^-6, the smallest
// 2^-9.
TEST(e4m3, has_the_values_of_its_table) {
  EXPECT_EQ(e4m3_to_fp32(0x00), 0.0F);
  EXPECT_EQ(e4m3_to_fp32(0x01), 0x1p-9F);
  EXPECT_EQ(e4m3_to_fp32(0x07), 0.875F * 0x1p-6F);
  EXPECT_EQ(e4m3_to_fp32(0x08), 0x1p-6F);
  EXPECT_EQ(e4m3_to_fp32(0x38), 1.0F);
  EXPECT_EQ(e4m3_to_fp32(0x3A), 1.25F);
  EXPECT_EQ(e4m3_to_fp32(0x7E), 448.0F);
  EXPECT_EQ(e4m3_to_fp32(0xFE), -448.0F);
  EXPECT_EQ(e4m3_to_fp32(0xB8), -1.0F);
  EXPECT_TRUE(std::signbit(e4m3_to_fp32(0x80)));
  EXPECT_TRUE(std::isnan(e4m3_to_fp32(0x7F)));
  EXPECT_TRUE(std::isnan(e4m3_to_fp32(0xFF)));
}

TEST(e4m3, rounds_by_hand) {
  EXPECT_EQ(fp32_to_e4m3(1.0625F), 0x38) << "a tie between 1 and 1.125 goes to the even fraction";
  EXPECT_EQ(fp32_to_e4m3(1.1875F), 0x3A) << "a tie between 1.125 and 1.25 goes to the even fraction";
  EXPECT_EQ(fp32_to_e4m3(464.0F), 0x7E) << "where 480 would be, were it not NaN's place, 464 is the tie";
  EXPECT_EQ(fp32_to_e4m3(1e6F), 0x7E);
  EXPECT_EQ(fp32_to_e4m3(-infinity), 0xFE);
  EXPECT_EQ(fp32_to_e4m3(0x1p-10F), 0x00) << "half of the smallest is a tie with 0";
  EXPECT_EQ(fp32_to_e4m3(0x1.8p-9F), 0x02) << "1.5 units go to the even 2";
  EXPECT_EQ(fp32_to_e4m3(0x1.Fp-7F), 0x08) << "7.75 units round up into the normal numbers";
  EXPECT_EQ(fp32_to_e4m3(-0.0F), 0x80);
  EXPECT_EQ(fp32_to_e4m3(nan), 0x7F);
  EXPECT_EQ(fp32_to_e4m3(-nan), 0x7F);
}

TEST(e4m3, is_the_nearest_of_all_values) {
  for (const float value : interesting(0x7E, e4m3_to_fp32)) {
    EXPECT_EQ(fp32_to_e4m3(value), nearest(value, 0x7E, 0x80, e4m3_to_fp32)) << value;
  }
}

TEST(e2m1, has_eight_magnitudes) {
  const std::vector<float> magnitudes{0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  for (unsigned code = 0; code < 8; ++code) {
    EXPECT_EQ(e2m1_to_fp32(static_cast<std::uint8_t>(code)), magnitudes[code]);
    EXPECT_EQ(e2m1_to_fp32(static_cast<std::uint8_t>(code | 8U)), -magnitudes[code]);
  }
  EXPECT_TRUE(std::signbit(e2m1_to_fp32(8)));
}

TEST(e2m1, rounds_by_hand) {
  EXPECT_EQ(fp32_to_e2m1(0.25F), 0) << "a tie between 0 and 0.5";
  EXPECT_EQ(fp32_to_e2m1(0.75F), 2) << "a tie between 0.5 and 1";
  EXPECT_EQ(fp32_to_e2m1(2.5F), 4) << "a tie between 2 and 3";
  EXPECT_EQ(fp32_to_e2m1(5.0F), 6) << "a tie between 4 and 6";
  EXPECT_EQ(fp32_to_e2m1(-5.1F), 15);
  EXPECT_EQ(fp32_to_e2m1(100.0F), 7);
  EXPECT_EQ(fp32_to_e2m1(-infinity), 15);
  EXPECT_EQ(fp32_to_e2m1(nan), 7);
}

TEST(e2m1, is_the_nearest_of_all_values) {
  for (const float value : interesting(7, e2m1_to_fp32)) {
    EXPECT_EQ(fp32_to_e2m1(value), nearest(value, 7, 8, e2m1_to_fp32)) << value;
  }
}

TEST(e8m0, is_a_power_of_two) {
  EXPECT_EQ(e8m0_to_fp32(127), 1.0F);
  EXPECT_EQ(e8m0_to_fp32(0), 0x1p-127F);
  EXPECT_EQ(e8m0_to_fp32(1), 0x1p-126F);
  EXPECT_EQ(e8m0_to_fp32(254), 0x1p127F);
  EXPECT_TRUE(std::isnan(e8m0_to_fp32(255)));
}

}  // namespace
}  // namespace switchyard::reference
