// SPDX-License-Identifier: Apache-2.0
// Conversions against the formats' definitions: values computed in double from sign, exponent and fraction.
#include "switchyard/reference/float_conversion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace switchyard::reference {
namespace {

/// A 16-bit format by its definition, and the conversions under test.
struct half_format {
  const char* name;
  int fraction_bits;
  int bias;
  std::uint16_t infinity;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);

  [[nodiscard]] bool is_nan(std::uint32_t bits) const { return (bits & 0x7FFFU) > infinity; }

  /// The value of finite bits. The bits of infinity give the power of two that would follow the largest finite value.
  [[nodiscard]] double value(std::uint32_t bits) const {
    const auto fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1U));
    const auto exponent = static_cast<int>((bits & 0x7FFFU) >> fraction_bits);
    const double hidden = exponent == 0 ? 0.0 : std::ldexp(1.0, fraction_bits);
    const double magnitude = std::ldexp(hidden + fraction, std::max(exponent, 1) - bias - fraction_bits);
    return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
  }
};

constexpr half_format bf16{"bf16", 7, 127, 0x7F80, bf16_to_fp32, fp32_to_bf16};
constexpr half_format fp16{"fp16", 10, 15, 0x7C00, fp16_to_fp32, fp32_to_fp16};

class half_conversion : public testing::TestWithParam<half_format> {};
INSTANTIATE_TEST_SUITE_P(formats, half_conversion, testing::Values(bf16, fp16),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(half_conversion, widening_gives_the_value_of_all_65536_patterns) {
  const half_format& format = GetParam();
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const float widened = format.widen(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::signbit(widened), (bits & 0x8000U) != 0) << std::hex << bits;
    if (format.is_nan(bits)) {
      ASSERT_TRUE(std::isnan(widened)) << std::hex << bits;
    } else if ((bits & 0x7FFFU) == format.infinity) {
      ASSERT_TRUE(std::isinf(widened)) << std::hex << bits;
    } else {
      ASSERT_EQ(static_cast<double>(widened), format.value(bits)) << std::hex << bits;
    }
  }
}

TEST_P(half_conversion, round_trip_of_all_65536_patterns) {
  const half_format& format = GetParam();
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const std::uint32_t expected = format.is_nan(bits) ? 0x7FFFU : bits;
    ASSERT_EQ(format.narrow(format.widen(static_cast<std::uint16_t>(bits))), expected) << std::hex << bits;
  }
}

// Between any two neighbours: below the middle down, above it up, on it to the even one. The last pair is the largest
// finite value and infinity, whose middle is where overflow begins.
TEST_P(half_conversion, nearest_even_between_all_neighbours) {
  const half_format& format = GetParam();
  for (std::uint32_t low = 0; low < format.infinity; ++low) {
    const std::uint32_t high = low + 1;
    const auto middle = static_cast<float>((format.value(low) + format.value(high)) / 2.0);
    ASSERT_EQ(static_cast<double>(middle), (format.value(low) + format.value(high)) / 2.0);
    const float below = std::nextafter(middle, 0.0F);
    const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    const std::uint32_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(format.narrow(below), low) << std::hex << low;
    ASSERT_EQ(format.narrow(middle), even) << std::hex << low;
    ASSERT_EQ(format.narrow(above), high) << std::hex << low;
    ASSERT_EQ(format.narrow(-below), low | 0x8000U) << std::hex << low;
    ASSERT_EQ(format.narrow(-middle), even | 0x8000U) << std::hex << low;
    ASSERT_EQ(format.narrow(-above), high | 0x8000U) << std::hex << low;
  }
}

struct rounding {
  std::uint32_t fp32;
  std::uint16_t half;
};

TEST(float_conversion, bf16_table) {
  const std::vector<rounding> table{
      {0x00000000, 0x0000},
      {0x80000000, 0x8000},  // both zeros
      {0x3F800000, 0x3F80},
      {0xC0490FDB, 0xC049},  // 1, -pi
      {0x3F808000, 0x3F80},
      {0x3F818000, 0x3F82},  // ties: down to even, up to even
      {0x3F808001, 0x3F81},
      {0x3F817FFF, 0x3F81},  // just past and just before a tie
      {0x3FFF8000, 0x4000},  // a carry into the exponent
      {0x00000001, 0x0000},
      {0x00008000, 0x0000},  // subnormals: the smallest, a tie to zero
      {0x00008001, 0x0001},
      {0x00018000, 0x0002},  // just past it, a tie up
      {0x007F8000, 0x0080},
      {0x807F7FFF, 0x807F},  // into the normal numbers, and not
      {0x7F7F0000, 0x7F7F},
      {0x7F7F7FFF, 0x7F7F},  // largest finite
      {0x7F7F8000, 0x7F80},
      {0x7F7FFFFF, 0x7F80},  // overflow
      {0x7F800000, 0x7F80},
      {0xFF800000, 0xFF80},  // infinities
      {0x7F800001, 0x7FFF},
      {0xFFFFFFFF, 0x7FFF},  // NaNs: the lowest, which truncation would make infinity; the highest
      {0x7FC00000, 0x7FFF},
      {0xFFC00000, 0x7FFF},
  };
  for (const auto& [from, to] : table) EXPECT_EQ(fp32_to_bf16(std::bit_cast<float>(from)), to) << std::hex << from;
}

TEST(float_conversion, fp16_table) {
  const std::vector<rounding> table{
      {0x00000000, 0x0000}, {0x80000000, 0x8000},  // both zeros
      {0x3F800000, 0x3C00}, {0xC0490FDB, 0xC248},  // 1, -pi
      {0x3F801000, 0x3C00}, {0x3F803000, 0x3C02},  // ties: down to even, up to even
      {0x3F801001, 0x3C01}, {0x3F802FFF, 0x3C01},  // just past and just before a tie
      {0x3FFFF000, 0x4000},                        // a carry into the exponent
      {0x33000000, 0x0000}, {0x33000001, 0x0001},  // 2^-25, a tie to zero; just past it
      {0x33800000, 0x0001}, {0x33C00000, 0x0002},  // 2^-24; 1.5 units, a tie up
      {0x387FC000, 0x03FF}, {0x387FE000, 0x0400},  // largest subnormal; a tie into the normal numbers
      {0x38800000, 0x0400}, {0x00000001, 0x0000},  // smallest normal; a subnormal of fp32
      {0x477FE000, 0x7BFF}, {0x477FEFFF, 0x7BFF},  // 65504, the largest finite; just below 65520
      {0x477FF000, 0x7C00}, {0xC77FF000, 0xFC00},  // overflow
      {0x7F7FFFFF, 0x7C00}, {0xFF7FFFFF, 0xFC00}, {0x7F800000, 0x7C00}, {0xFF800000, 0xFC00},  // infinities
      {0x7F800001, 0x7FFF}, {0xFFFFFFFF, 0x7FFF}, {0x7FC00000, 0x7FFF}, {0xFFC00000, 0x7FFF},  // NaNs
  };
  for (const auto& [from, to] : table) EXPECT_EQ(fp32_to_fp16(std::bit_cast<float>(from)), to) << std::hex << from;
}

TEST(float_conversion, nan_bits_survive_widening) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(bf16_to_fp32(0xFF81)), 0xFF810000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(bf16_to_fp32(0x7FC5)), 0x7FC50000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(fp16_to_fp32(0x7C01)), 0x7F802000U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(fp16_to_fp32(0xFFFF)), 0xFFFFE000U);
}

TEST(float_conversion, fp32_keeps_all_bits_but_those_of_nans) {
  for (const std::uint32_t bits :
       {0U, 0x80000000U, 1U, 0x807FFFFFU, 0x3F800001U, 0x7F7FFFFFU, 0x7F800000U, 0xFF800000U}) {
    EXPECT_EQ(fp32_to_bits(std::bit_cast<float>(bits)), bits) << std::hex << bits;
  }
  for (const std::uint32_t bits : {0x7F800001U, 0xFF800001U, 0x7FC00000U, 0xFFFFFFFFU}) {
    EXPECT_EQ(fp32_to_bits(std::bit_cast<float>(bits)), 0x7FFFFFFFU) << std::hex << bits;
  }
}

}  // namespace
}  // namespace switchyard::reference
