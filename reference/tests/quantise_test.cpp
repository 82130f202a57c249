// SPDX-License-Identifier: Apache-2.0
// The quantisers against rows worked out by hand from the formats' rules.
#include "switchyard/reference/quantise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::array quantised{dispatch_format::fp8, dispatch_format::fp8_block128, dispatch_format::mxfp8,
                               dispatch_format::nvfp4, dispatch_format::mxfp4};

struct quantised_row {
  std::vector<unsigned> row;
  std::vector<unsigned> scales;
};

std::vector<unsigned> numbers(const std::vector<std::byte>& bytes) {
  std::vector<unsigned> result;
  for (const auto byte : bytes) result.push_back(std::to_integer<unsigned>(byte));
  return result;
}

quantised_row quantise(dispatch_format format, const std::vector<float>& values, float tensor_scale = 1) {
  const auto bytes = bytes_of(format, values.size());
  std::vector<std::byte> row(bytes.hidden_states, std::byte{0xA5});
  std::vector<std::byte> scales(bytes.hidden_states_scale, std::byte{0xA5});
  quantise_row(format, values, tensor_scale, row.data(), scales.data());
  return {numbers(row), numbers(scales)};
}

std::vector<float> round_trip(dispatch_format format, const std::vector<float>& values, float tensor_scale = 1) {
  const auto bytes = bytes_of(format, values.size());
  std::vector<std::byte> row(bytes.hidden_states);
  std::vector<std::byte> scales(bytes.hidden_states_scale);
  quantise_row(format, values, tensor_scale, row.data(), scales.data());
  std::vector<float> back(values.size());
  dequantise_row(format, row.data(), scales.data(), tensor_scale, back);
  return back;
}

std::vector<float> padded(std::vector<float> first, std::size_t elements) {
  first.resize(elements, 0.0F);
  return first;
}

using bytes = std::vector<unsigned>;

TEST(fp8, divides_by_the_scale_of_the_tensor) {
  const auto is = quantise(dispatch_format::fp8, {0.5F, -1.0F, 300.0F, nan, infinity}, 0.5F);
  EXPECT_EQ(is.row, (bytes{0x38, 0xC0, 0x7E, 0x7F, 0x7E})) << "1, -2, 600 and infinity saturated, NaN";
  EXPECT_TRUE(is.scales.empty());
}

TEST(fp8_block128, has_the_amax_over_448_of_each_block) {
  std::vector<float> values(130, 0.0F);
  values[0] = -896.0F;  // scale 2
  values[1] = 2.0F;
  values[128] = 112.0F;  // the last block has two elements: scale 1/4
  values[129] = -0.25F;
  const auto is = quantise(dispatch_format::fp8_block128, values);
  ASSERT_EQ(is.row.size(), 130U);
  EXPECT_EQ(is.row[0], 0xFEU);
  EXPECT_EQ(is.row[1], 0x38U);
  EXPECT_EQ(is.row[2], 0x00U);
  EXPECT_EQ(is.row[128], 0x7EU);
  EXPECT_EQ(is.row[129], 0xB8U);
  EXPECT_EQ(is.scales, (bytes{0, 0, 0, 0x40, 0, 0, 0x80, 0x3E})) << "2 and 1/4 in fp32";
}

TEST(fp8_block128, of_zeros_or_of_what_is_not_finite_has_the_scale_1) {
  const bytes one{0, 0, 0x80, 0x3F};
  EXPECT_EQ(quantise(dispatch_format::fp8_block128, {0.0F, -0.0F}).scales, one);
  EXPECT_EQ(quantise(dispatch_format::fp8_block128, {0.0F, -0.0F}).row, (bytes{0x00, 0x80}));
  EXPECT_EQ(quantise(dispatch_format::fp8_block128, {std::numeric_limits<float>::denorm_min()}).scales, one)
      << "amax / 448 rounds to 0";
  const auto is = quantise(dispatch_format::fp8_block128, {nan, 2.0F, -infinity, 1e6F, 1e-4F});
  EXPECT_EQ(is.scales, one);
  EXPECT_EQ(is.row, (bytes{0x7F, 0x40, 0xFE, 0x7E, 0x00})) << "what is finite is cast as it is: 448, and 0";
  EXPECT_EQ(quantise(dispatch_format::fp8_block128, {infinity, -1e6F, -1e-4F}).row, (bytes{0x7E, 0xFE, 0x80}));
}

// OCP MX 1.0, 6.3: floor(log2(amax)) - 8 for e4m3.
TEST(mxfp8, has_a_power_of_two_for_32_elements) {
  std::vector<float> values(40, 0.0F);
  values[0] = 3.0F;  // floor(log2 3) is 1: scale 2^-7
  values[1] = -2.0F;
  values[31] = 0x1p-16F;  // 2^-9 of the scale: the smallest subnormal
  values[32] = 500.0F;    // scale 2^0: more than e4m3 has, saturated
  values[33] = 1.0F;
  const auto is = quantise(dispatch_format::mxfp8, values);
  EXPECT_EQ(is.scales, (bytes{127 - 7, 127}));
  EXPECT_EQ(is.row[0], 0x7CU) << "384 is 1.5 * 2^8";
  EXPECT_EQ(is.row[1], 0xF8U) << "-256";
  EXPECT_EQ(is.row[31], 0x01U);
  EXPECT_EQ(is.row[32], 0x7EU) << "448";
  EXPECT_EQ(is.row[33], 0x38U);
}

TEST(mxfp8, keeps_to_the_scales_that_there_are) {
  EXPECT_EQ(quantise(dispatch_format::mxfp8, {0.0F}).scales, bytes{0}) << "zeros: 2^-127";
  EXPECT_EQ(quantise(dispatch_format::mxfp8, {0x1p-126F}).scales, bytes{0}) << "2^-134 is clamped to 2^-127";
  EXPECT_EQ(quantise(dispatch_format::mxfp8, {0x1p-126F}).row, bytes{0x40}) << "2";
  EXPECT_EQ(quantise(dispatch_format::mxfp8, {0x1p-130F}).row, bytes{0x20}) << "2^-3, of a subnormal";
  EXPECT_EQ(quantise(dispatch_format::mxfp8, {std::numeric_limits<float>::max()}).scales, bytes{127 + 119});
  for (const float odd : {nan, infinity, -infinity}) {
    const auto is = quantise(dispatch_format::mxfp8, {1.0F, odd});
    EXPECT_EQ(is.scales, bytes{0xFF});
    EXPECT_EQ(is.row, (bytes{0, 0}));
  }
}

// For e2m1: floor(log2(amax)) - 2.
TEST(mxfp4, packs_two_elements_into_a_byte) {
  const auto is = quantise(dispatch_format::mxfp4, {6.0F, -0.5F, 7.9F, 2.5F, 3.5F});
  EXPECT_EQ(is.scales, bytes{127}) << "2^0";
  EXPECT_EQ(is.row, (bytes{0x97, 0x47, 0x06})) << "6 and -0.5; 6 (saturated) and 2 (a tie); 4 (a tie) and nothing";
  const auto small = quantise(dispatch_format::mxfp4, padded({0.0F, 0x1p-20F}, 33));
  EXPECT_EQ(small.scales, (bytes{127 - 22, 0}));
  EXPECT_EQ(small.row[0], 0x60U) << "4 in the high half";
  EXPECT_EQ(small.row[16], 0x00U);
  EXPECT_EQ(quantise(dispatch_format::mxfp4, {1.0F, nan}).scales, bytes{0xFF});
}

TEST(nvfp4, has_an_e4m3_scale_for_16_elements) {
  std::vector<float> values(18, 0.0F);
  values[0] = 12.0F;  // amax / 6 is 2
  values[1] = -1.0F;
  values[2] = 7.0F;   // 3.5: a tie between 3 and 4
  values[16] = 0.6F;  // 0.1 rounds to 0.1015625, 1.625 * 2^-4
  values[17] = -0.3F;
  const auto is = quantise(dispatch_format::nvfp4, values);
  EXPECT_EQ(is.scales, (bytes{0x40, 0x1D}));
  EXPECT_EQ(is.row[0], 0x97U) << "6 and -0.5";
  EXPECT_EQ(is.row[1], 0x06U) << "4";
  EXPECT_EQ(is.row[8], 0xD7U) << "5.9 is 6, -2.95 is -3";
}

TEST(nvfp4, has_a_second_scale_of_the_tensor) {
  const auto is = quantise(dispatch_format::nvfp4, {12.0F, -4.0F}, 0.25F);
  EXPECT_EQ(is.scales, bytes{0x50}) << "2 / 0.25";
  EXPECT_EQ(is.row, bytes{0xC7}) << "6 and -2";
  EXPECT_EQ(quantise(dispatch_format::nvfp4, {1e6F}).scales, bytes{0x7E}) << "448 at most";
  EXPECT_EQ(quantise(dispatch_format::nvfp4, {1e6F}).row, bytes{0x07});
  EXPECT_EQ(quantise(dispatch_format::nvfp4, {1e-6F, -1e-6F}).scales, bytes{0x00}) << "too small for a scale";
  EXPECT_EQ(quantise(dispatch_format::nvfp4, {1e-6F, -1e-6F}).row, bytes{0x00});
  EXPECT_EQ(quantise(dispatch_format::nvfp4, {infinity, 1.0F}).scales, bytes{0x7F});
  EXPECT_EQ(quantise(dispatch_format::nvfp4, {infinity, 1.0F}).row, bytes{0x00});
}

TEST(quantise, fills_exactly_the_bytes_of_the_format) {
  for (const auto format : quantised) {
    for (const std::size_t elements : {1U, 15U, 16U, 17U, 31U, 32U, 33U, 127U, 128U, 129U, 2880U}) {
      const auto due = bytes_of(format, elements);
      std::vector<std::byte> row(due.hidden_states + 1, std::byte{0xA5});
      std::vector<std::byte> scales(due.hidden_states_scale + 1, std::byte{0xA5});
      const std::vector<float> values(elements, 1.75F);  // no code and no scale of it is 0xA5
      quantise_row(format, values, 1, row.data(), scales.data());
      for (std::size_t i = 0; i < due.hidden_states; ++i) ASSERT_NE(row[i], std::byte{0xA5}) << to_string(format) << i;
      EXPECT_EQ(row.back(), std::byte{0xA5}) << to_string(format) << elements;
      for (std::size_t i = 0; i + 1 < scales.size(); i += scale_bytes(format)) ASSERT_NE(scales[i], std::byte{0xA5});
      EXPECT_EQ(scales.back(), std::byte{0xA5}) << to_string(format) << elements;
      EXPECT_EQ(elements_per_scale(format) == 0 ? 0 : (elements - 1) / elements_per_scale(format) + 1,
                due.hidden_states_scale / std::max<std::size_t>(1, scale_bytes(format)));
    }
  }
}

// Half of the last place: of e4m3 normals 2^-4 of the value; of e2m1 a quarter below 4 in units of the scale. What
// saturates in MX loses up to 1/8 (448 for 512) or a quarter (6 for 8).
TEST(quantise, comes_back_within_the_bound_of_its_format) {
  std::mt19937 random(11);
  std::normal_distribution<float> bell(0.0F, 3.0F);
  std::vector<float> values(2880);
  for (auto& value : values) value = bell(random);
  for (const auto format : quantised) {
    const float tensor_scale = format == dispatch_format::fp8 ? 0x1p-4F : 0.125F;
    const auto back = round_trip(format, values, tensor_scale);
    const std::size_t per_scale = elements_per_scale(format) == 0 ? values.size() : elements_per_scale(format);
    for (std::size_t j = 0; j < values.size(); ++j) {
      float amax = 0;
      for (std::size_t i = j / per_scale * per_scale; i < std::min(values.size(), (j / per_scale + 1) * per_scale);
           ++i) {
        amax = std::max(amax, std::fabs(values[i]));
      }
      const float bound = is_four_bit(format) ? amax / 4 : std::max(std::fabs(values[j]) / 8, amax / 4096);
      ASSERT_LE(std::fabs(back[j] - values[j]), bound) << to_string(format) << " element " << j << " " << values[j];
    }
  }
}

// What a format holds exactly it gives back exactly, and quantising that again changes nothing.
TEST(quantise, is_exact_for_what_the_format_holds) {
  std::mt19937 random(5);
  std::normal_distribution<float> bell(0.0F, 3.0F);
  std::vector<float> values(256);
  for (auto& value : values) value = bell(random);
  for (const auto format : quantised) {
    const auto once = round_trip(format, values);
    const auto twice = round_trip(format, once);
    if (format != dispatch_format::fp8_block128) {
      EXPECT_EQ(once, twice) << to_string(format);
      continue;
    }
    // The scale alone, an fp32 quotient, may round anew, and the product with it.
    EXPECT_EQ(quantise(format, once).row, quantise(format, values).row);
    for (std::size_t j = 0; j < values.size(); ++j) {
      EXPECT_LE(std::fabs(twice[j] - once[j]), std::fabs(once[j]) * 0x1p-22F) << j;
    }
  }
}

TEST(quantise, refuses_what_it_cannot_do) {
  const std::vector<float> values(4, 1.0F);
  std::vector<std::byte> row(8);
  std::vector<std::byte> scales(8);
  std::vector<float> back(4);
  EXPECT_THROW(quantise_row(dispatch_format::bf16, values, 1, row.data(), scales.data()), invalid_argument);
  EXPECT_THROW(quantise_row(dispatch_format::fp8, {}, 1, row.data(), nullptr), invalid_argument);
  EXPECT_THROW(quantise_row(dispatch_format::fp8, values, 0, row.data(), nullptr), invalid_argument);
  EXPECT_THROW(quantise_row(dispatch_format::fp8, values, infinity, row.data(), nullptr), invalid_argument);
  EXPECT_THROW(quantise_row(dispatch_format::mxfp8, values, 1, row.data(), nullptr), invalid_argument);
  EXPECT_THROW(quantise_row(dispatch_format::mxfp8, values, 1, nullptr, scales.data()), invalid_argument);
  EXPECT_THROW(dequantise_row(dispatch_format::mxfp8, row.data(), nullptr, 1, back), invalid_argument);
  EXPECT_NO_THROW(quantise_row(dispatch_format::fp8, values, 1, row.data(), nullptr));
}

}  // namespace
}  // namespace switchyard::reference
