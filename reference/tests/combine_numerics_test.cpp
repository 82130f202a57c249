// SPDX-License-Identifier: Apache-2.0
// Values of the sum: copies, zeros, subnormals, rounding, overflow and NaNs, and that rows of any length agree with
// their elements taken one by one.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/float_conversion.hpp"

namespace switchyard::reference {
namespace {

using tests::bits_of;
using tests::byte_row;
using tests::combine_element;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr sum_order all_orders[] = {sum_order::slot_order, sum_order::rank_order, sum_order::balanced_tree};
constexpr dtype all_dtypes[] = {dtype::bf16, dtype::fp16, dtype::fp32};

TEST(combine_token, no_row_gives_positive_zero) {
  for (const dtype type : all_dtypes) {
    byte_row out(5 * itemsize(type), std::byte{0xCD});
    combine_token({}, {}, 5, type, sum_order::slot_order, out.data());
    EXPECT_EQ(out, byte_row(5 * itemsize(type), std::byte{0}));
  }
}

TEST(combine_token, no_element_touches_nothing) {
  byte_row out(4, std::byte{0xCD});
  combine_token({}, {}, 0, dtype::bf16, sum_order::slot_order, out.data());
  combine_token({}, {}, 0, dtype::bf16, sum_order::slot_order, nullptr);
  EXPECT_EQ(out, byte_row(4, std::byte{0xCD}));
}

TEST(combine_token, one_row_comes_back_bit_for_bit) {
  std::vector<u16> all_patterns;
  for (u32 bits = 0; bits <= 0xFFFFU; ++bits) all_patterns.push_back(static_cast<u16>(bits));
  const byte_row row = tests::row_of(all_patterns);  // as fp32 it holds signalling and quiet NaNs too
  for (const dtype type : all_dtypes) {
    for (const sum_order order : all_orders) EXPECT_EQ(tests::combine({row}, type, order), row);
  }
}

struct pair_sum {
  u16 a, b, sum;
};

TEST(combine_token, bf16_pairs) {
  const std::vector<pair_sum> table{
      {0x0000, 0x8000, 0x0000},
      {0x8000, 0x8000, 0x8000},  // +0 and -0; two of -0
      {0x3F80, 0xBF80, 0x0000},  // 1 - 1
      {0x0001, 0x0001, 0x0002},
      {0x807F, 0x8001, 0x8080},  // subnormals, into the normal numbers
      {0x0080, 0x8001, 0x007F},  // and out of them
      {0x3F80, 0x3B80, 0x3F80},
      {0x3F81, 0x3B80, 0x3F82},  // 2^-8 to 1 and to 1 + 2^-7: ties, to even both times
      {0x7F7F, 0x7A80, 0x7F7F},
      {0x7F7F, 0x7B00, 0x7F80},  // largest finite: plus a quarter and a half of its last place
      {0x7F7F, 0x7F7F, 0x7F80},
      {0xFF7F, 0xFF7F, 0xFF80},  // overflow of fp32
      {0x7F80, 0x3F80, 0x7F80},
      {0x7F80, 0xFF80, 0x7FFF},  // infinities
      {0xFF81, 0x3F80, 0x7FFF},
      {0x3F80, 0x7FC1, 0x7FFF},  // NaNs, on either side
  };
  for (const auto& [a, b, sum] : table) {
    for (const sum_order order : all_orders) {
      EXPECT_EQ(combine_element<u16>({a, b}, dtype::bf16, order), sum) << std::hex << a << " + " << b;
    }
  }
}

TEST(combine_token, fp16_pairs) {
  const std::vector<pair_sum> table{
      {0x0000, 0x8000, 0x0000}, {0x8000, 0x8000, 0x8000},  // +0 and -0; two of -0
      {0x0001, 0x0001, 0x0002}, {0x83FF, 0x8001, 0x8400},  // subnormals, into the normal numbers
      {0x3C00, 0x1000, 0x3C00}, {0x3C01, 0x1000, 0x3C02},  // 2^-11 to 1 and to 1 + 2^-10: ties
      {0x7BFF, 0x4800, 0x7BFF}, {0x7BFF, 0x4C00, 0x7C00},  // 65504 + 8; 65504 + 16 overflows
      {0x7C00, 0xFC00, 0x7FFF}, {0xFC00, 0x7BFF, 0xFC00},  // infinities
      {0xFC01, 0x3C00, 0x7FFF}, {0x3C00, 0x7E00, 0x7FFF},  // NaNs
  };
  for (const auto& [a, b, sum] : table) {
    for (const sum_order order : all_orders) {
      EXPECT_EQ(combine_element<u16>({a, b}, dtype::fp16, order), sum) << std::hex << a << " + " << b;
    }
  }
}

TEST(combine_token, fp32_pairs) {
  EXPECT_EQ(combine_element<u32>({0x00000001, 0x00000001}, dtype::fp32), 0x00000002U);  // no flush to zero
  EXPECT_EQ(combine_element<u32>({0x80000000, 0x80000000}, dtype::fp32), 0x80000000U);
  EXPECT_EQ(combine_element<u32>({0x7F7FFFFF, 0x7F7FFFFF}, dtype::fp32), 0x7F800000U);
  EXPECT_EQ(combine_element<u32>({0x7F800000, 0xFF800000}, dtype::fp32), 0x7FFFFFFFU);
  EXPECT_EQ(combine_element<u32>({0xFF800001, 0x3F800000}, dtype::fp32), 0x7FFFFFFFU);
}

// fp16 accumulated in fp32 may pass 65504 on the way and come back.
TEST(combine_token, an_intermediate_sum_may_exceed_the_output_type) {
  EXPECT_EQ(combine_element<u16>({0x7BFF, 0x7BFF, 0xFBFF}, dtype::fp16), 0x7BFF);
}

/// The sum of one element in slot order, straight from the words of the contract.
u32 slot_sum(const std::vector<u32>& elements, dtype type) {
  const auto widen = [type](u32 bits) {
    if (type == dtype::bf16) return bf16_to_fp32(static_cast<u16>(bits));
    if (type == dtype::fp16) return fp16_to_fp32(static_cast<u16>(bits));
    return std::bit_cast<float>(bits);
  };
  float sum = widen(elements.front());
  for (std::size_t i = 1; i < elements.size(); ++i) sum = sum + widen(elements[i]);
  if (type == dtype::bf16) return fp32_to_bf16(sum);
  if (type == dtype::fp16) return fp32_to_fp16(sum);
  return fp32_to_bits(sum);
}

template <typename Bits>
void expect_element_by_element(std::mt19937_64& random, dtype type, std::size_t elements, std::size_t num_rows) {
  // One byte before each row, so that no row is aligned, and guards behind the output.
  std::vector<byte_row> storage;
  std::vector<const std::byte*> rows;
  rows.reserve(num_rows);
  for (std::size_t i = 0; i < num_rows; ++i) {
    storage.push_back(tests::random_row(random, 1 + elements * sizeof(Bits)));
    rows.push_back(storage.back().data() + 1);  // stays valid: growth of `storage` moves its rows, not their bytes
  }
  const std::vector<int> owners(num_rows, 0);  // slot order does not look at them
  byte_row out(elements * sizeof(Bits) + 8, std::byte{0xCD});
  combine_token(rows, owners, elements, type, sum_order::slot_order, out.data());
  for (std::size_t guard = out.size() - 8; guard < out.size(); ++guard) ASSERT_EQ(out[guard], std::byte{0xCD});

  const auto sums = bits_of<Bits>(std::span(out).first(elements * sizeof(Bits)));
  for (std::size_t j = 0; j < elements; ++j) {
    std::vector<u32> column;
    column.reserve(num_rows);
    for (const std::byte* row : rows) column.push_back(bits_of<Bits>({row + j * sizeof(Bits), sizeof(Bits)}).front());
    ASSERT_EQ(sums[j], slot_sum(column, type)) << to_string(type) << " element " << j << " of " << elements;
  }
}

TEST(combine_token, rows_of_any_length_agree_with_their_elements) {
  std::mt19937_64 random(7);
  for (const std::size_t elements : {1U, 2U, 7U, 8U, 9U, 31U, 100U, 1023U, 1024U, 1025U, 2880U, 4099U}) {
    for (const std::size_t num_rows : {2U, 3U, 8U}) {
      expect_element_by_element<u16>(random, dtype::bf16, elements, num_rows);
      expect_element_by_element<u16>(random, dtype::fp16, elements, num_rows);
      expect_element_by_element<u32>(random, dtype::fp32, elements, num_rows);
    }
  }
}

TEST(combine_token, two_rows_do_not_depend_on_the_order) {
  std::mt19937_64 random(8);
  for (const dtype type : all_dtypes) {
    const std::vector<byte_row> rows{tests::random_row(random, 6000), tests::random_row(random, 6000)};
    const byte_row expected = tests::combine(rows, type);
    EXPECT_EQ(tests::combine(rows, type, sum_order::rank_order, {1, 0}), expected);
    EXPECT_EQ(tests::combine(rows, type, sum_order::balanced_tree), expected);
  }
}

}  // namespace
}  // namespace switchyard::reference
