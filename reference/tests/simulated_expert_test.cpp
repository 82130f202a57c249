// SPDX-License-Identifier: Apache-2.0
// The simulated expert, worked out on paper, bit by bit.
#include "switchyard/reference/simulated_expert.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "rows.hpp"
#include "switchyard/reference/float_conversion.hpp"
#include "switchyard/reference/quantise.hpp"

namespace switchyard::reference {
namespace {

using tests::byte_row;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

/// 256 experts on 2 ranks: rank 0 owns 0 .. 127. expert_scale is 1 for experts 63, 127, 191, 255.
comm_params params_of(std::int64_t top_k, std::int64_t hidden_size, dtype type) {
  comm_params params = tests::shape_of(2, 256, top_k, 1, hidden_size).params;
  params.dtype = type;
  return params;
}

template <typename Bits>
std::vector<Bits> expert_bits(int owner, const comm_params& params, const std::vector<std::int32_t>& ids,
                              const std::vector<float>& weights, const byte_row& row,
                              expert_law law = expert_law::scaled, const byte_row& scales = {}) {
  byte_row out(static_cast<std::size_t>(params.hidden_size) * itemsize(params.dtype), std::byte{0xCD});
  simulated_expert_row(owner, 2, params, ids, weights, row.data(), scales.empty() ? nullptr : scales.data(), out.data(),
                       law);
  return tests::bits_of<Bits>(out);
}

TEST(expert_scale, is_a_64th_per_expert_modulo_64) {
  EXPECT_EQ(expert_scale(0), 0x1p-6F);
  EXPECT_EQ(expert_scale(2), 0.046875F);
  EXPECT_EQ(expert_scale(63), 1.0F);
  EXPECT_EQ(expert_scale(64), 0x1p-6F);
  EXPECT_EQ(expert_scale(255), 1.0F);
}

TEST(simulated_expert, sums_the_slots_of_its_owner_only) {
  const comm_params params = params_of(4, 3, dtype::bf16);
  const byte_row row = tests::row_of<u16>({0x3F80, 0xC000, 0x0000});  // 1, -2, 0
  const std::vector<std::int32_t> ids{31, 255, -1, 15};               // 1/2 and 1/4 on rank 0; 1 on rank 1
  EXPECT_EQ(expert_bits<u16>(0, params, ids, {}, row), (std::vector<u16>{0x3F40, 0xBFC0, 0x0000}));  // times 3/4
  EXPECT_EQ(expert_bits<u16>(1, params, ids, {}, row), (std::vector<u16>{0x3F80, 0xC000, 0x0000}));
}

TEST(simulated_expert, weights_apply_slot_by_slot) {
  const comm_params params = params_of(3, 1, dtype::fp32);
  const byte_row row = tests::row_of<u32>({0x40000000});  // 2
  const std::vector<float> weights{0.5F, 8.0F, 3.0F};
  EXPECT_EQ(expert_bits<u32>(0, params, {63, 255, 31}, weights, row),
            (std::vector<u32>{0x40800000}));  // 2 * (1/2 + 3/2)
  EXPECT_EQ(expert_bits<u32>(1, params, {63, 255, 31}, weights, row), (std::vector<u32>{0x41800000}));  // 2 * 8
}

TEST(simulated_expert, an_expert_named_in_every_slot_counts_in_every_slot) {
  const comm_params params = params_of(8, 1, dtype::bf16);
  const byte_row row = tests::row_of<u16>({0x3F80});
  const std::vector<std::int32_t> ids(8, 3);  // eight times 1/8 * 4/64
  EXPECT_EQ(expert_bits<u16>(0, params, ids, std::vector<float>(8, 0.125F), row), (std::vector<u16>{0x3D80}));  // 1/16
}

TEST(simulated_expert, identity_experts_apply_the_weights_alone) {
  const comm_params params = params_of(4, 2, dtype::bf16);
  const byte_row row = tests::row_of<u16>({0x3F80, 0xC000});  // 1, -2
  const std::vector<std::int32_t> ids{31, 255, -1, 15};       // two on rank 0, one on rank 1
  const auto identity = expert_law::identity;
  EXPECT_EQ(expert_bits<u16>(0, params, ids, {}, row, identity), (std::vector<u16>{0x4000, 0xC080}));  // 2, -4
  EXPECT_EQ(expert_bits<u16>(1, params, ids, {}, row, identity), (std::vector<u16>{0x3F80, 0xC000}));
  EXPECT_EQ(expert_bits<u16>(0, params, ids, {0.5F, 7.0F, 7.0F, 2.5F}, row, identity),
            (std::vector<u16>{0x4040, 0xC0C0}));  // 3, -6
  EXPECT_EQ(expert_bits<u16>(1, params, {31, -1, -1, 15}, {}, row, identity), (std::vector<u16>{0, 0}));
}

TEST(simulated_expert, a_row_for_nobody_here_is_positive_zero) {
  const comm_params params = params_of(2, 3, dtype::bf16);
  const byte_row nans = tests::row_of<u16>({0x7FC0, 0xFF80, 0xBF80});
  EXPECT_EQ(expert_bits<u16>(0, params, {255, -1}, {}, nans), (std::vector<u16>{0, 0, 0}));
}

TEST(simulated_expert, the_factor_is_rounded_to_fp32) {
  // (1 + 2^-23) * 3/64 = (3 + 1.5 units of 2^-22) / 64: a tie, up to the even 3 + 2 units.
  const comm_params params = params_of(1, 1, dtype::fp32);
  const byte_row one = tests::row_of<u32>({0x3F800000});
  EXPECT_EQ(expert_bits<u32>(0, params, {2}, {0x1.000002p0F}, one), (std::vector<u32>{0x3D400002}));
}

TEST(simulated_expert, each_product_is_rounded_before_it_is_added) {
  // x = 1 + 2^-12. x * x = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11 (a tie); less x that is 2^-12. A fused multiply and
  // add would keep the 2^-24 and give 0x39800800.
  const comm_params params = params_of(2, 1, dtype::fp32);
  const byte_row x = tests::row_of<u32>({0x3F800800});
  EXPECT_EQ(expert_bits<u32>(0, params, {63, 127}, {-1.0F, 0x1.001p0F}, x), (std::vector<u32>{0x39800000}));
}

TEST(simulated_expert, slots_are_summed_in_ascending_order) {
  const comm_params params = params_of(3, 1, dtype::fp32);
  const byte_row one = tests::row_of<u32>({0x3F800000});
  EXPECT_EQ(expert_bits<u32>(0, params, {63, 63, 63}, {0x1p24F, 1.0F, 1.0F}, one), (std::vector<u32>{0x4B800000}));
  EXPECT_EQ(expert_bits<u32>(0, params, {63, 63, 63}, {1.0F, 1.0F, 0x1p24F}, one), (std::vector<u32>{0x4B800001}));
}

TEST(simulated_expert, rounds_once_to_the_dtype_and_starts_from_the_first_product) {
  const byte_row bf16_row = tests::row_of<u16>({0x3F83, 0x8000, 0x7F7F});  // 1 + 3 * 2^-7, -0, largest finite
  const comm_params bf16 = params_of(1, 3, dtype::bf16);
  // Times 1.5: 1.53515625 lies halfway between 0x3FC4 and 0x3FC5, to even; -0 stays; overflow.
  EXPECT_EQ(expert_bits<u16>(0, bf16, {63}, {1.5F}, bf16_row), (std::vector<u16>{0x3FC4, 0x8000, 0x7F80}));
  const byte_row fp16_row = tests::row_of<u16>({0x0003, 0x8000, 0x7BFF});  // 3 * 2^-24, -0, 65504
  const comm_params fp16 = params_of(1, 3, dtype::fp16);
  EXPECT_EQ(expert_bits<u16>(0, fp16, {63}, {1.5F}, fp16_row), (std::vector<u16>{0x0004, 0x8000, 0x7C00}));
}

TEST(simulated_expert, nan_results_are_canonical_even_from_one_product) {
  const byte_row halves = tests::row_of<u16>({0xFFC1, 0x3F80});
  EXPECT_EQ(expert_bits<u16>(0, params_of(1, 2, dtype::bf16), {63}, {}, halves), (std::vector<u16>{0x7FFF, 0x3F80}));
  EXPECT_EQ(expert_bits<u16>(0, params_of(1, 2, dtype::fp16), {63}, {}, halves), (std::vector<u16>{0x7FFF, 0x3F80}));
  const byte_row words = tests::row_of<u32>({0xFF800001, 0x3F800000});
  EXPECT_EQ(expert_bits<u32>(0, params_of(1, 2, dtype::fp32), {63}, {}, words),
            (std::vector<u32>{0x7FFFFFFF, 0x3F800000}));
}

TEST(simulated_expert, a_format_equal_to_the_dtype_travels_as_elements) {
  comm_params params = params_of(1, 2, dtype::bf16);
  params.dispatch_format = dispatch_format::bf16;
  EXPECT_EQ(expert_bits<u16>(0, params, {63}, {}, tests::row_of<u16>({0x3F80, 0x4049})),
            (std::vector<u16>{0x3F80, 0x4049}));
  params = params_of(1, 2, dtype::fp16);
  params.dispatch_format = dispatch_format::fp16;
  EXPECT_EQ(expert_bits<u16>(0, params, {63}, {}, tests::row_of<u16>({0x3C00, 0x0001})),
            (std::vector<u16>{0x3C00, 0x0001}));
}

TEST(simulated_expert, a_format_of_another_type_is_widened_from_its_own) {
  comm_params params = params_of(1, 2, dtype::fp32);
  params.dispatch_format = dispatch_format::bf16;
  EXPECT_EQ(expert_bits<u32>(0, params, {63}, {}, tests::row_of<u16>({0x3F80, 0xC000})),
            (std::vector<u32>{0x3F800000, 0xC0000000}));
  params = params_of(1, 2, dtype::bf16);
  params.dispatch_format = dispatch_format::fp16;
  EXPECT_EQ(expert_bits<u16>(0, params, {63}, {}, tests::row_of<u16>({0x3C00, 0xC000})),
            (std::vector<u16>{0x3F80, 0xC000}));
}

byte_row bytes_from(std::initializer_list<unsigned> values) {
  byte_row row;
  for (const unsigned value : values) row.push_back(static_cast<std::byte>(value));
  return row;
}

/// What expert 63 of rank 0, whose factor is 1, makes of a row in bf16.
std::vector<u16> from_scaled(dispatch_format format, std::int64_t hidden_size, const byte_row& row,
                             const byte_row& scales) {
  comm_params params = params_of(1, hidden_size, dtype::bf16);
  params.dispatch_format = format;
  EXPECT_EQ(row.size(), params.dispatch_bytes().hidden_states);
  EXPECT_EQ(scales.size(), params.dispatch_bytes().hidden_states_scale);
  return expert_bits<u16>(0, params, {63}, {}, row, expert_law::scaled, scales);
}

TEST(simulated_expert, reads_fp8_with_a_tensor_scale_of_1) {
  EXPECT_EQ(from_scaled(dispatch_format::fp8, 4, bytes_from({0x38, 0xC0, 0x01, 0x7E}), {}),
            (std::vector<u16>{0x3F80, 0xC000, 0x3B00, 0x43E0}));  // 1, -2, 2^-9, 448
}

TEST(simulated_expert, reads_fp8_block128_with_a_scale_for_128_elements) {
  const auto scales = bytes_from({0x00, 0x00, 0x40, 0x40, 0x00, 0x00, 0x80, 0x3E});  // 3, 1/4
  std::vector<u16> expected(128, 0x4040);
  expected.push_back(0x3E80);
  EXPECT_EQ(from_scaled(dispatch_format::fp8_block128, 129, byte_row(129, std::byte{0x38}), scales), expected);
}

TEST(simulated_expert, reads_mxfp8_with_a_power_of_two_for_32_elements) {
  std::vector<u16> expected(32, 0x4000);  // 2
  expected.push_back(0x3F00);             // 1/2
  EXPECT_EQ(from_scaled(dispatch_format::mxfp8, 33, byte_row(33, std::byte{0x38}), bytes_from({0x80, 0x7E})), expected);
}

TEST(simulated_expert, reads_mxfp4_two_elements_a_byte) {
  EXPECT_EQ(from_scaled(dispatch_format::mxfp4, 3, bytes_from({0x79, 0x01}), bytes_from({0x81})),
            (std::vector<u16>{0xC000, 0x41C0, 0x4000}));  // 4 times -1/2, 6, 1/2
}

TEST(simulated_expert, reads_nvfp4_with_an_e4m3_scale_for_16_elements) {
  auto row = byte_row(9, std::byte{0});
  row[0] = std::byte{0x42};
  row[8] = std::byte{0x0D};
  std::vector<u16> expected(17, 0);
  expected[0] = 0x4000;   // 2 times 1
  expected[1] = 0x4080;   // 2 times 2
  expected[16] = 0xC090;  // 1.5 times -3
  EXPECT_EQ(from_scaled(dispatch_format::nvfp4, 17, row, bytes_from({0x40, 0x3C})), expected);
}

TEST(simulated_expert, rounds_the_scaled_element_before_the_factor) {
  // 9/8 (1 + 4u) 3/2 with u = 2^-23: 9/8 + 4.5u is a tie, to 9/8 + 4u, times 3/2 is 27/16 + 6u. Scale times factor
  // first, or one rounding at the end, would give 27/16 + 7u.
  comm_params params = params_of(1, 1, dtype::fp32);
  params.dispatch_format = dispatch_format::fp8_block128;
  EXPECT_EQ(expert_bits<u32>(0, params, {63}, {1.5F}, bytes_from({0x39}), expert_law::scaled,
                             bytes_from({0x04, 0x00, 0x80, 0x3F})),
            (std::vector<u32>{0x3FD80006}));
}

TEST(simulated_expert, scales_that_are_nan_or_infinite_count_as_they_are) {
  EXPECT_EQ(from_scaled(dispatch_format::mxfp8, 2, bytes_from({0x38, 0x00}), bytes_from({0xFF})),
            (std::vector<u16>{0x7FFF, 0x7FFF}));
  EXPECT_EQ(from_scaled(dispatch_format::nvfp4, 2, bytes_from({0x22}), bytes_from({0xFF})),
            (std::vector<u16>{0x7FFF, 0x7FFF}));
  EXPECT_EQ(from_scaled(dispatch_format::fp8_block128, 3, bytes_from({0xB8, 0x00, 0x7F}),
                        bytes_from({0x00, 0x00, 0x80, 0x7F})),
            (std::vector<u16>{0xFF80, 0x7FFF, 0x7FFF}));  // -1, 0 and NaN times infinity
}

TEST(simulated_expert, long_scaled_rows_are_read_piece_by_piece_as_a_whole) {
  std::mt19937_64 random(3);
  for (const std::int64_t hidden_size : {4096, 4099}) {  // longer than the pieces it is worked in; even and odd
    for (const dispatch_format format : {dispatch_format::fp8, dispatch_format::fp8_block128, dispatch_format::mxfp8,
                                         dispatch_format::nvfp4, dispatch_format::mxfp4}) {
      comm_params params = params_of(1, hidden_size, dtype::fp32);
      params.dispatch_format = format;
      const auto bytes = params.dispatch_bytes();
      const byte_row row = tests::random_row(random, bytes.hidden_states);
      const byte_row scales = tests::random_row(random, bytes.hidden_states_scale);
      std::vector<float> expected(static_cast<std::size_t>(hidden_size));
      dequantise_row(format, row.data(), scales.data(), 1, expected);
      const auto out = expert_bits<u32>(0, params, {63}, {}, row, expert_law::scaled, scales);
      for (std::size_t j = 0; j < out.size(); ++j) {
        ASSERT_EQ(out[j], fp32_to_bits(expected[j])) << to_string(format) << " element " << j;
      }
    }
  }
}

}  // namespace
}  // namespace switchyard::reference
