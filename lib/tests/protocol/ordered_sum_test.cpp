// SPDX-License-Identifier: Apache-2.0
// Conversions against exact arithmetic in double, and sums against hand-worked bits.
#include "protocol/ordered_sum.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "fabric/host/host_block.hpp"

namespace switchyard::protocol {
namespace {

template <class Element>
bool is_nan(typename Element::bits bits) {
  return std::isnan(Element::load(bits));
}

template <class Element>
void every_value_survives(std::uint16_t canonical) {
  for (std::uint32_t i = 0; i <= 0xFFFF; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const auto expected = is_nan<Element>(bits) ? canonical : bits;
    ASSERT_EQ(Element::store(Element::load(bits)), expected) << std::hex << i;
  }
}
TEST(bf16_element, every_value_survives_and_nans_become_canonical) { every_value_survives<bf16_element>(0x7FFF); }
TEST(fp16_element, every_value_survives_and_nans_become_canonical) { every_value_survives<fp16_element>(0x7FFF); }

// Between neighbours a and b of the format, everything below the midpoint goes to a, above it to b, and the midpoint
// itself to the even one. Neighbours and midpoints are exact in fp32 for both formats.
template <class Element>
void rounds_to_nearest_even(std::uint16_t last_finite) {
  for (std::uint16_t bits = 0; bits < last_finite; ++bits) {
    const auto up = static_cast<std::uint16_t>(bits + 1);
    const double low = Element::load(bits);
    const double high = Element::load(up);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(static_cast<double>(middle), (low + high) / 2);
    ASSERT_EQ(Element::store(middle), bits % 2 == 0 ? bits : up) << std::hex << bits;
    ASSERT_EQ(Element::store(std::nextafter(middle, 0.0F)), bits) << std::hex << bits;
    ASSERT_EQ(Element::store(std::nextafter(middle, INFINITY)), up) << std::hex << bits;
    ASSERT_EQ(Element::store(-middle), (bits % 2 == 0 ? bits : up) | 0x8000);
  }
}
TEST(bf16_element, rounds_to_nearest_even) { rounds_to_nearest_even<bf16_element>(0x7F7F); }
TEST(fp16_element, rounds_to_nearest_even) { rounds_to_nearest_even<fp16_element>(0x7BFF); }

TEST(fp16_element, overflows_to_infinity_from_the_midpoint_on) {
  EXPECT_EQ(fp16_element::store(65519.996F), 0x7BFF);
  EXPECT_EQ(fp16_element::store(65520.0F), 0x7C00);
  EXPECT_EQ(fp16_element::store(-1e30F), 0xFC00);
  EXPECT_EQ(fp16_element::store(INFINITY), 0x7C00);
}

TEST(fp32_element, keeps_bits_but_for_nans) {
  EXPECT_EQ(fp32_element::store(fp32_element::load(0x80000001U)), 0x80000001U);
  EXPECT_EQ(fp32_element::store(std::bit_cast<float>(0xFFC12345U)), 0x7FFFFFFFU);
}

std::uint16_t sum_bf16(const std::vector<std::uint16_t>& terms) {
  std::vector<const std::byte*> rows;
  for (const auto& term : terms) rows.push_back(reinterpret_cast<const std::byte*>(&term));
  std::uint16_t out = 0xCDCD;
  host::host_block::reduce_rows(reinterpret_cast<std::byte*>(&out), rows.data(),
                                static_cast<std::uint32_t>(rows.size()), 1, dtype::bf16);
  return out;
}

TEST(reduce_rows, rounds_once) {
  // 256 + 1 + 1 + 1 + 1 + 1 + 1 + 2 = 264 wherever the 256 stands; rounding each term would lose ones.
  const std::vector<std::uint16_t> small{0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x3F80, 0x4000};
  for (std::size_t where = 0; where <= small.size(); ++where) {
    auto terms = small;
    terms.insert(terms.begin() + static_cast<std::ptrdiff_t>(where), 0x4380);
    EXPECT_EQ(sum_bf16(terms), 0x4384) << "256 in slot " << where;
  }
}

TEST(reduce_rows, goes_left_to_right) {
  // fp32: (2^24 + 1) + 1 stays 2^24, 1 + 1 + 2^24 does not.
  const auto sum = [](std::array<float, 3> terms) {
    std::array<const std::byte*, 3> rows{};
    for (std::size_t i = 0; i < 3; ++i) rows[i] = reinterpret_cast<const std::byte*>(&terms[i]);
    float out = 0;
    host::host_block::reduce_rows(reinterpret_cast<std::byte*>(&out), rows.data(), 3, 1, dtype::fp32);
    return out;
  };
  EXPECT_EQ(sum({16777216.0F, 1.0F, 1.0F}), 16777216.0F);
  EXPECT_EQ(sum({1.0F, 1.0F, 16777216.0F}), 16777218.0F);
}

TEST(reduce_rows, one_row_comes_back_bit_for_bit_and_none_is_plus_zero) {
  EXPECT_EQ(sum_bf16({0xFFC1}), 0xFFC1);  // a NaN with a payload
  EXPECT_EQ(sum_bf16({0x8000}), 0x8000);
  EXPECT_EQ(sum_bf16({}), 0x0000);
}

TEST(reduce_rows, nan_results_are_canonical_and_subnormals_are_kept) {
  EXPECT_EQ(sum_bf16({0xFFC1, 0x3F80}), 0x7FFF);
  EXPECT_EQ(sum_bf16({0x7F80, 0xFF80}), 0x7FFF);  // inf - inf
  EXPECT_EQ(sum_bf16({0x0001, 0x0001}), 0x0002);
  EXPECT_EQ(sum_bf16({0x8000, 0x8000}), 0x8000);
}

TEST(reduce_rows, long_rows_are_summed_to_the_last_element) {
  for (const std::size_t elements : {1U, 1023U, 1024U, 1025U, 2049U}) {
    std::vector<float> a(elements, 1.5F);
    std::vector<float> b(elements, 2.0F);
    std::vector<float> out(elements + 1, -1.0F);
    for (std::size_t i = 0; i < elements; ++i) b[i] = static_cast<float>(i);
    const std::array<const std::byte*, 2> rows{reinterpret_cast<const std::byte*>(a.data()),
                                               reinterpret_cast<const std::byte*>(b.data())};
    host::host_block::reduce_rows(reinterpret_cast<std::byte*>(out.data()), rows.data(), 2, elements, dtype::fp32);
    for (std::size_t i = 0; i < elements; ++i) ASSERT_EQ(out[i], 1.5F + static_cast<float>(i));
    EXPECT_EQ(out[elements], -1.0F);
  }
}

}  // namespace
}  // namespace switchyard::protocol
