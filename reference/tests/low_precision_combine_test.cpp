// SPDX-License-Identifier: Apache-2.0
// Low precision by hand: values of e4m3 from its definition, scales and sums worked out on paper.
#include "switchyard/reference/low_precision_combine.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/small_floats.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

using tests::bits_of;
using tests::byte_row;
using tests::row_of;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr float infinity = std::numeric_limits<float>::infinity();

struct pair {
  float value;
  std::uint8_t bits;
};

TEST(e4m3, values_of_the_published_format) {
  // Zero, the least and largest subnormal, the least and largest normal number, one and its neighbours.
  for (const auto& [value, bits] : std::vector<pair>{{0.0F, 0x00},
                                                     {-0.0F, 0x80},
                                                     {0x1p-9F, 0x01},
                                                     {-0x7p-9F, 0x87},
                                                     {0x1p-6F, 0x08},
                                                     {1.0F, 0x38},
                                                     {1.125F, 0x39},
                                                     {0.9375F, 0x37},
                                                     {240.0F, 0x77},
                                                     {256.0F, 0x78},
                                                     {-448.0F, 0xFE}}) {
    EXPECT_EQ(fp32_to_e4m3(value), bits) << value;
    EXPECT_EQ(e4m3_to_fp32(bits), value);
    EXPECT_EQ(std::signbit(e4m3_to_fp32(bits)), std::signbit(value));
  }
}

TEST(e4m3, ties_go_to_the_even_neighbour) {
  for (const auto& [value, bits] :
       std::vector<pair>{{1.0625F, 0x38},    // between 1 and 1.125
                         {1.1875F, 0x3A},    // between 1.125 and 1.25
                         {1.9375F, 0x40},    // between 1.875 and 2: into the next exponent
                         {0x1p-10F, 0x00},   // between 0 and the least subnormal
                         {-0x1p-10F, 0x80},  // the sign of a zero stays
                         {0x3p-10F, 0x02},   // between the first two subnormals
                         {0xFp-10F, 0x08},   // between the last subnormal and the first normal number
                         {432.0F, 0x7E}}) {  // between 416 and 448
    EXPECT_EQ(fp32_to_e4m3(value), bits) << value;
    // A hair off the tie goes to the nearer one.
    const float above = std::nextafter(value, std::copysign(infinity, value));
    const float below = std::nextafter(value, 0.0F);
    EXPECT_GE(fp32_to_e4m3(above) & 0x7F, bits & 0x7F) << above;
    EXPECT_LE(fp32_to_e4m3(below) & 0x7F, bits & 0x7F) << below;
    EXPECT_EQ((fp32_to_e4m3(above) & 0x7F) - (fp32_to_e4m3(below) & 0x7F), 1) << value;
  }
}

TEST(e4m3, saturates_and_keeps_nan) {
  for (const float value : {448.0F, 449.0F, 464.0F, 480.0F, 1e30F, infinity}) {
    EXPECT_EQ(fp32_to_e4m3(value), 0x7E) << value;
    EXPECT_EQ(fp32_to_e4m3(-value), 0xFE) << value;
  }
  EXPECT_EQ(fp32_to_e4m3(std::numeric_limits<float>::quiet_NaN()), 0x7F);
  EXPECT_EQ(fp32_to_e4m3(std::bit_cast<float>(0xFF800001U)), 0x7F);
  EXPECT_TRUE(std::isnan(e4m3_to_fp32(0x7F)));
  EXPECT_TRUE(std::isnan(e4m3_to_fp32(0xFF)));
  EXPECT_EQ(fp32_to_e4m3(1e-30F), 0x00);
  EXPECT_EQ(fp32_to_e4m3(-1e-45F), 0x80);
}

TEST(e4m3, every_value_comes_back) {
  for (int bits = 0; bits < 256; ++bits) {
    const auto value = e4m3_to_fp32(static_cast<std::uint8_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(fp32_to_e4m3(value), bits);
  }
}

/// Every value between two neighbours rounds to the nearer one; by comparing distances, not by the code's arithmetic.
TEST(e4m3, rounds_to_the_nearest) {
  for (int bits = 0; bits < 0x7E; ++bits) {
    const double low = e4m3_to_fp32(static_cast<std::uint8_t>(bits));
    const double high = e4m3_to_fp32(static_cast<std::uint8_t>(bits + 1));
    for (int step = 1; step < 64; ++step) {
      const double value = low + (high - low) * step / 64;
      const int nearest = value - low < high - value   ? bits
                          : value - low > high - value ? bits + 1
                                                       : (bits + 1) / 2 * 2;
      EXPECT_EQ(fp32_to_e4m3(static_cast<float>(value)), nearest) << value;
    }
  }
}

std::vector<float> values(const std::vector<float>& row, low_precision format) {
  const auto bytes = row_of(row);
  std::vector<float> out(row.size());
  low_precision_values(bytes.data(), row.size(), dtype::fp32, format, out.data());
  return out;
}

TEST(low_precision_values, fp8_has_no_scale) {
  EXPECT_EQ(values({1.0625F, -1000.0F, 0x1p-11F, 3.0F}, low_precision::fp8),
            (std::vector<float>{1.0F, -448.0F, 0.0F, 3.0F}));
  EXPECT_EQ(values({1.0625F, -1000.0F}, low_precision::none), (std::vector<float>{1.0625F, -1000.0F}));
}

TEST(low_precision_values, a_block_has_the_scale_of_its_largest_magnitude) {
  // amax 896: the scale is 2. 33 / 2 = 16.5 is between 16 and 18, nearer to 16; 3 / 2 = 1.5 is a value of e4m3.
  EXPECT_EQ(values({-896.0F, 33.0F, 3.0F, 0.0F, -0.0F}, low_precision::fp8_block_scaled),
            (std::vector<float>{-896.0F, 32.0F, 3.0F, 0.0F, -0.0F}));
  // amax 1: the scale is 1 / 448 rounded to fp32, 1 / scale a little less than 448, which e4m3 rounds to that.
  const float scale = 1.0F / 448.0F;
  EXPECT_EQ(std::bit_cast<u32>(scale), 0x3B124925U);
  EXPECT_EQ(values({1.0F, 0.5F}, low_precision::fp8_block_scaled),
            (std::vector<float>{448.0F * scale, 224.0F * scale}));
}

TEST(low_precision_values, blocks_are_of_128_and_the_last_may_be_shorter) {
  std::vector<float> row(128 + 128 + 3, 1.0F);
  row[0] = 448.0F * 4;    // scale 4
  row[128] = 448.0F * 8;  // scale 8
  row[256] = 448.0F * 2;  // scale 2
  row[127] = 4.25F;       // 1.0625 * 4: a tie, to 4
  row[255] = 4.25F;       // 0.53125 * 8: a tie between 0.5 and 0.5625, to 4
  row[258] = 4.25F;       // 2.125 * 2: a tie between 2 and 2.25, to 4
  row[129] = 9.0F;        // 1.125 * 8
  row[257] = 4.5F;        // 2.25 * 2
  const auto out = values(row, low_precision::fp8_block_scaled);
  EXPECT_EQ(out[0], 1792.0F);
  EXPECT_EQ(out[128], 3584.0F);
  EXPECT_EQ(out[256], 896.0F);
  EXPECT_EQ(out[127], 4.0F);
  EXPECT_EQ(out[255], 4.0F);
  EXPECT_EQ(out[258], 4.0F);
  EXPECT_EQ(out[129], 9.0F);
  EXPECT_EQ(out[257], 4.5F);
  EXPECT_EQ(out[1], 1.0F);
  EXPECT_EQ(out[130], 1.0F);
}

TEST(low_precision_values, the_scale_is_1_where_amax_is_0_or_not_finite) {
  EXPECT_EQ(values({0.0F, -0.0F}, low_precision::fp8_block_scaled), (std::vector<float>{0.0F, -0.0F}));
  EXPECT_TRUE(std::signbit(values({0.0F, -0.0F}, low_precision::fp8_block_scaled)[1]));
  EXPECT_EQ(values({infinity, 1.0625F, -1000.0F}, low_precision::fp8_block_scaled),
            (std::vector<float>{448.0F, 1.0F, -448.0F}));
  const auto with_nan =
      values({std::numeric_limits<float>::quiet_NaN(), 1.0625F, 1000.0F}, low_precision::fp8_block_scaled);
  EXPECT_TRUE(std::isnan(with_nan[0]));
  EXPECT_EQ(with_nan[1], 1.0F);
  EXPECT_EQ(with_nan[2], 448.0F);
}

TEST(low_precision_values, the_scale_is_1_where_it_would_round_to_0) {
  // 224 * 2^-149 / 448 is half of the least subnormal, and rounds to 0; one unit more rounds to that.
  const float just_none = std::bit_cast<float>(224U);
  const float just_one = std::bit_cast<float>(225U);
  EXPECT_EQ(values({just_none, 0.0F}, low_precision::fp8_block_scaled), (std::vector<float>{0.0F, 0.0F}));
  // 225 units by a scale of one: between 224 and 240.
  EXPECT_EQ(values({just_one, 0.0F}, low_precision::fp8_block_scaled),
            (std::vector<float>{std::bit_cast<float>(224U), 0.0F}));
}

byte_row combine_in(low_precision format, const std::vector<byte_row>& rows, dtype type,
                    sum_order order = sum_order::slot_order) {
  const auto pointers = tests::pointers_to(rows);
  std::vector<int> owners(rows.size());
  for (std::size_t i = 0; i < owners.size(); ++i) owners[i] = static_cast<int>(owners.size() - i);
  byte_row out(rows.front().size(), std::byte{0xCD});
  combine_token_in(format, pointers, owners, out.size() / itemsize(type), type, order, out.data());
  return out;
}

TEST(combine_token_in, one_source_comes_back_quantised) {
  // bf16 1.0625, -1000, infinity, NaN: 1, -448, 448, the canonical NaN.
  const auto row = row_of<u16>({0x3F88, 0xC47A, 0x7F80, 0xFF81});
  EXPECT_EQ(bits_of<u16>(combine_in(low_precision::fp8, {row}, dtype::bf16)),
            (std::vector<u16>{0x3F80, 0xC3E0, 0x43E0, 0x7FFF}));
  EXPECT_EQ(combine_in(low_precision::none, {row}, dtype::bf16), row);
  // fp16 -0 keeps its sign; fp32 as well.
  EXPECT_EQ(bits_of<u16>(combine_in(low_precision::fp8, {row_of<u16>({0x8000})}, dtype::fp16)),
            (std::vector<u16>{0x8000}));
  EXPECT_EQ(bits_of<u32>(combine_in(low_precision::fp8_block_scaled, {row_of<u32>({0x80000000U})}, dtype::fp32)),
            (std::vector<u32>{0x80000000U}));
}

TEST(combine_token_in, every_source_is_quantised_before_it_is_added) {
  // 1.0625 + 1.0625: each rounds to 1 first. As sums they would be 2.125.
  const auto row = row_of<u32>({std::bit_cast<u32>(1.0625F)});
  EXPECT_EQ(bits_of<u32>(combine_in(low_precision::fp8, {row, row}, dtype::fp32)),
            (std::vector<u32>{std::bit_cast<u32>(2.0F)}));
  // The sum itself is not quantised: 448 + 448 + 1.
  const auto big = row_of<u32>({std::bit_cast<u32>(448.0F)});
  EXPECT_EQ(bits_of<u32>(combine_in(low_precision::fp8, {big, big, row}, dtype::fp32)),
            (std::vector<u32>{std::bit_cast<u32>(897.0F)}));
}

TEST(combine_token_in, sums_in_the_order_that_is_asked_for) {
  // 2^24 is beyond e4m3, not beyond a scale: 448 * 2^16, then 1 twice, which a sum beginning with them would keep.
  const auto big = row_of<u32>({std::bit_cast<u32>(448.0F * 0x1p16F)});
  const auto one = row_of<u32>({std::bit_cast<u32>(1.0F)});
  const auto slots = combine_in(low_precision::fp8_block_scaled, {big, one, one}, dtype::fp32);
  const auto ranks = combine_in(low_precision::fp8_block_scaled, {big, one, one}, dtype::fp32, sum_order::rank_order);
  EXPECT_EQ(bits_of<u32>(slots), (std::vector<u32>{std::bit_cast<u32>(448.0F * 0x1p16F)}));
  EXPECT_EQ(bits_of<u32>(ranks), (std::vector<u32>{std::bit_cast<u32>(448.0F * 0x1p16F + 2.0F)}));
}

TEST(combine_token_in, rounds_once_to_the_type_and_gives_canonical_nans) {
  // bf16 256 + 1: fp32 257 rounds to 256; + another 1 of the same kind is 258, which bf16 has.
  const auto big = row_of<u16>({0x4380});
  const auto one = row_of<u16>({0x3F80});
  EXPECT_EQ(bits_of<u16>(combine_in(low_precision::fp8, {big, one, one}, dtype::bf16)), (std::vector<u16>{0x4381}));
  const auto nan = row_of<u16>({0xFFC1});
  EXPECT_EQ(bits_of<u16>(combine_in(low_precision::fp8_block_scaled, {one, nan}, dtype::bf16)),
            (std::vector<u16>{0x7FFF}));
  EXPECT_EQ(bits_of<u32>(combine_in(low_precision::fp8, {row_of<u32>({0xFFC00001U})}, dtype::fp32)),
            (std::vector<u32>{0x7FFFFFFFU}));
}

TEST(combine_token_in, no_row_gives_positive_zero_and_bad_arguments_are_refused) {
  byte_row out(6, std::byte{0xCD});
  combine_token_in(low_precision::fp8, {}, {}, 3, dtype::bf16, sum_order::slot_order, out.data());
  EXPECT_EQ(out, byte_row(6, std::byte{0}));
  const auto row = row_of<u16>({0x3F80, 0x3F80, 0x3F80});
  const std::byte* rows[] = {row.data()};
  const int owner = 0;
  EXPECT_THROW(combine_token_in(low_precision::fp8, rows, {}, 3, dtype::bf16, sum_order::slot_order, out.data()),
               invalid_argument);
  EXPECT_THROW(combine_token_in(low_precision::fp8, rows, {&owner, 1}, 3, dtype::bf16, sum_order::slot_order, nullptr),
               invalid_argument);
  const std::byte* null[] = {nullptr};
  EXPECT_THROW(
      combine_token_in(low_precision::fp8, null, {&owner, 1}, 3, dtype::bf16, sum_order::slot_order, out.data()),
      invalid_argument);
}

TEST(low_precision_error, is_worked_out_by_hand) {
  // Sums 1.0625 and 2 and infinity and 0, results 1 and 2 and 448 and 0.
  const auto row = row_of<u32>({std::bit_cast<u32>(1.0625F), std::bit_cast<u32>(2.0F), 0x7F800000U, 0});
  const auto result = combine_in(low_precision::fp8, {row}, dtype::fp32);
  low_precision_error error;
  error.add_token(tests::pointers_to({row}), 4, dtype::fp32, result.data());
  EXPECT_EQ(error.figures().elements, 3U);
  EXPECT_EQ(error.figures().left_out, 1U);
  EXPECT_EQ(error.figures().max_relative, 0.0625 / 1.0625);
  EXPECT_EQ(error.figures().mean_relative, 0.0625 / 1.0625 / 2);
  EXPECT_EQ(error.figures().rms_relative, std::sqrt(0.0625 * 0.0625 / (1.0625 * 1.0625 + 4)));
}

TEST(low_precision_error, adds_up_and_begins_at_0) {
  low_precision_error all;
  EXPECT_EQ(all.figures().max_relative + all.figures().mean_relative + all.figures().rms_relative, 0);
  const auto row = row_of<u32>({std::bit_cast<u32>(1.0625F)});
  const auto twice = row_of<u32>({std::bit_cast<u32>(2.0F)});
  low_precision_error one;
  // Two sources of 1.0625: the sum is 2.125, the result 2.
  one.add_token(tests::pointers_to({row, row}), 1, dtype::fp32, twice.data());
  EXPECT_EQ(one.figures().max_relative, 0.125 / 2.125);
  all.add(one);
  all.add(one);
  EXPECT_EQ(all.figures().elements, 2U);
  EXPECT_EQ(all.figures().max_relative, one.figures().max_relative);
  EXPECT_EQ(all.figures().mean_relative, one.figures().mean_relative);
  EXPECT_EQ(all.figures().rms_relative, one.figures().rms_relative);
}

// What a format may be off by at most, from its definition: half a unit in the last place of e4m3, which is 1/16 of a
// normal number, and for a scaled block the rounding of the quotient, of the product and of the scale besides.
TEST(low_precision_error, is_within_the_formats_bound_for_normal_numbers) {
  std::vector<float> row;
  for (int i = 0; i < 1280; ++i) row.push_back(std::ldexp(1.0F + static_cast<float>(i % 97) / 97.0F, i % 8));
  const auto bytes = row_of(row);
  for (const auto format : {low_precision::fp8, low_precision::fp8_block_scaled}) {
    const auto result = combine_in(format, {bytes}, dtype::fp32);
    low_precision_error error;
    error.add_token(tests::pointers_to({bytes}), row.size(), dtype::fp32, result.data());
    EXPECT_LE(error.figures().max_relative, (1.0 + 0x1p-22) / 16) << to_string(format);
    EXPECT_GT(error.figures().max_relative, 0.03) << to_string(format);
    EXPECT_LT(error.figures().rms_relative, error.figures().max_relative);
    EXPECT_LT(error.figures().mean_relative, error.figures().max_relative);
  }
}

TEST(low_precision, words_and_bytes) {
  for (const auto format : {low_precision::none, low_precision::fp8, low_precision::fp8_block_scaled}) {
    EXPECT_EQ(low_precision_from_string(to_string(format)), format);
  }
  EXPECT_FALSE(low_precision_from_string("fp4"));
  EXPECT_EQ(combine_bytes_of(low_precision::none, dtype::bf16, 300), 600U);
  EXPECT_EQ(combine_bytes_of(low_precision::fp8, dtype::fp32, 300), 300U);
  EXPECT_EQ(combine_bytes_of(low_precision::fp8_block_scaled, dtype::bf16, 300), 312U);
  EXPECT_EQ(combine_bytes_of(low_precision::fp8_block_scaled, dtype::bf16, 7168), 7168U + 224U);
}

}  // namespace
}  // namespace switchyard::reference
