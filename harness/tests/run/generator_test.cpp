// SPDX-License-Identifier: Apache-2.0
// Inputs: the law of the ids, the range of the values, and that no two rows are alike.
#include "switchyard/harness/generator.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "small_case.hpp"
#include "switchyard/reference/quantise.hpp"

namespace switchyard::harness {
namespace {

std::vector<std::int32_t> ids_of(const step_generator& generator, int rank, std::int64_t token) {
  std::vector<std::int32_t> ids(generator.row_bytes(payload_kind::topk_ids) / 4);
  generator.fill_row(payload_kind::topk_ids, rank, token, reinterpret_cast<std::byte*>(ids.data()));
  return ids;
}

TEST(generator_test, uniform_ids_are_distinct_and_every_subset_is_drawn_alike) {
  auto spec = small_case(1);
  spec.params.num_experts = 4;
  spec.params.top_k = 2;
  spec.params.max_tokens_per_rank = 12000;
  spec.num_tokens = 12000;
  const step_generator generator(spec, 1, 0);
  std::map<std::vector<std::int32_t>, int> pairs;
  for (std::int64_t token = 0; token < spec.num_tokens; ++token) ++pairs[ids_of(generator, 0, token)];
  ASSERT_EQ(pairs.size(), 12U);  // ordered pairs of 4
  double chi_squared = 0;
  for (const auto& [pair, count] : pairs) {
    EXPECT_NE(pair[0], pair[1]);
    chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  // 11 degrees of freedom: exceeded with probability 0.001, and the seed is fixed.
  EXPECT_LT(chi_squared, 31.26);
}

TEST(generator_test, all_experts_of_a_small_group_can_be_chosen_at_once) {
  auto spec = small_case(1);
  spec.params.num_experts = 10;
  spec.params.top_k = 10;
  const step_generator generator(spec, 1, 0);
  const auto ids = ids_of(generator, 0, 0);
  EXPECT_EQ(std::set<std::int32_t>(ids.begin(), ids.end()).size(), 10U);
}

TEST(generator_test, balanced_ids_use_every_expert_equally_often) {
  auto spec = small_case(5);
  spec.routing = routing_law::balanced;
  spec.num_tokens = 8;  // 5 * 8 * 4 slots over 10 experts: 16 each
  for (int step = 0; step < 3; ++step) {
    const step_generator generator(spec, 1, step);
    std::map<std::int32_t, int> uses;
    for (int rank = 0; rank < 5; ++rank) {
      for (std::int64_t token = 0; token < 8; ++token) {
        const auto ids = ids_of(generator, rank, token);
        EXPECT_EQ(std::set<std::int32_t>(ids.begin(), ids.end()).size(), 4U);
        for (const std::int32_t id : ids) ++uses[id];
      }
    }
    ASSERT_EQ(uses.size(), 10U);
    for (const auto& [id, count] : uses) EXPECT_EQ(count, 16) << id;
  }
}

TEST(generator_test, invalid_slots_come_as_often_as_asked) {
  auto spec = small_case(1);
  spec.params.max_tokens_per_rank = 5000;
  spec.num_tokens = 5000;
  for (const int percent : {0, 25, 100}) {
    spec.invalid_percent = percent;
    const step_generator generator(spec, 1, 0);
    int invalid = 0;
    for (std::int64_t token = 0; token < spec.num_tokens; ++token) {
      for (const std::int32_t id : ids_of(generator, 0, token)) invalid += id == -1 ? 1 : 0;
    }
    // 20000 slots; five standard deviations of a binomial at one quarter are 306.
    EXPECT_NEAR(invalid, percent * 200, percent % 100 == 0 ? 0 : 306);
  }
}

TEST(generator_test, varying_steps_have_foreign_ids_that_name_no_expert) {
  auto spec = small_case(2);
  spec.variation = step_variation::vary;
  std::set<std::int32_t> outside;
  for (int step = 0; step < 100; ++step) {
    const step_generator generator(spec, 1, step);
    for (std::int64_t token = 0; token < generator.plan().num_tokens[0]; ++token) {
      for (const std::int32_t id : ids_of(generator, 0, token)) {
        if (id < 0 || id >= 10) outside.insert(id);
      }
    }
  }
  EXPECT_EQ(outside, (std::set<std::int32_t>{-1, 10, 11, 12}));
}

TEST(generator_test, weights_are_positive_exact_and_at_most_two) {
  const auto spec = small_case(1);
  const step_generator generator(spec, 1, 0);
  std::array<float, 4> weights{};
  for (std::int64_t token = 0; token < 9; ++token) {
    generator.fill_row(payload_kind::topk_weights, 0, token, reinterpret_cast<std::byte*>(weights.data()));
    for (const float weight : weights) {
      EXPECT_GT(weight, 0.0F);
      EXPECT_LE(weight, 2.0F);
      EXPECT_EQ(weight * 32768.0F, std::floor(weight * 32768.0F));
    }
  }
}

// Exponent field and sign of element `at` of a row, and whether it is a zero.
struct element {
  unsigned exponent;
  bool negative;
  bool zero;
};
element element_at(dtype type, const std::byte* row, std::size_t at) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, row + at * itemsize(type), itemsize(type));
  if (type == dtype::fp32) return {(bits >> 23) & 0xFFU, (bits >> 31) != 0, (bits & 0x7FFFFFFFU) == 0};
  const unsigned fraction_bits = type == dtype::bf16 ? 7 : 10;
  const unsigned exponent_mask = type == dtype::bf16 ? 0xFFU : 0x1FU;
  return {(bits >> fraction_bits) & exponent_mask, (bits >> 15) != 0, (bits & 0x7FFFU) == 0};
}

TEST(generator_test, hidden_rows_are_finite_mixed_and_now_and_then_special) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    auto spec = small_case(1);
    spec.params.dtype = type;
    spec.params.hidden_size = 512;
    spec.params.max_tokens_per_rank = 640;
    spec.num_tokens = 640;
    spec.runtime_max_tokens.reset();
    const step_generator generator(spec, 1, 0);
    const unsigned all_ones = type == dtype::fp16 ? 0x1F : 0xFF;
    std::vector<std::byte> row(generator.row_bytes(payload_kind::hidden_states));
    int special_rows = 0;
    std::set<unsigned> exponents;
    for (std::int64_t token = 0; token < spec.num_tokens; ++token) {
      generator.fill_row(payload_kind::hidden_states, 0, token, row.data());
      int zeros = 0;
      int negative = 0;
      bool special = false;
      std::set<unsigned> seen;
      for (std::size_t at = 0; at < 512; ++at) {
        const auto value = element_at(type, row.data(), at);
        zeros += value.zero && value.negative ? 1 : 0;
        negative += value.negative ? 1 : 0;
        special |= value.exponent == all_ones || (value.exponent == 0 && !value.zero);
        if (!value.zero) seen.insert(value.exponent);
      }
      if (special || seen.size() > 16) {
        ++special_rows;
        continue;
      }
      EXPECT_EQ(zeros, 1);
      EXPECT_NEAR(negative, 256, 60);
      exponents.merge(seen);
    }
    EXPECT_EQ(exponents.size(), type == dtype::fp16 ? 8U : 16U) << to_string(type);
    EXPECT_GT(special_rows, 0);
    EXPECT_LT(special_rows, 30);  // 640 / 64 are due
  }
}

TEST(generator_test, padding_rows_name_no_expert_and_repeated_slots_do) {
  auto spec = small_case(2);
  spec.padding_rows = step_counts::parse("3:99").value();
  spec.duplicate_percent = 100;
  const step_generator generator(spec, 1, 0);
  const std::vector<std::int32_t> none(4, -1);
  for (std::int64_t token = 0; token < 9; ++token) {
    const auto ids = ids_of(generator, 0, token);
    EXPECT_EQ(ids == none, token >= 6) << token;
    EXPECT_EQ(std::set<std::int32_t>(ids.begin(), ids.end()).size(), 1U);
    EXPECT_EQ(ids_of(generator, 1, token), none);
  }
}

std::vector<std::byte> hidden_row(const case_spec& spec, std::int64_t token, int rank = 0) {
  const step_generator generator(spec, 1, 0);
  std::vector<std::byte> row(generator.row_bytes(payload_kind::hidden_states));
  generator.fill_row(payload_kind::hidden_states, rank, token, row.data());
  return row;
}

TEST(generator_test, ones_are_ones) {
  auto spec = small_case(1);
  spec.values = hidden_values::ones;
  spec.params.hidden_size = 3;
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> row;
    for (const int value : values) row.push_back(static_cast<std::byte>(value));
    return row;
  };
  EXPECT_EQ(hidden_row(spec, 0), bytes({0x80, 0x3F, 0x80, 0x3F, 0x80, 0x3F}));
  spec.params.dtype = dtype::fp16;
  EXPECT_EQ(hidden_row(spec, 8), bytes({0x00, 0x3C, 0x00, 0x3C, 0x00, 0x3C}));
  spec.params.dtype = dtype::fp32;
  EXPECT_EQ(hidden_row(spec, 3), bytes({0, 0, 0x80, 0x3F, 0, 0, 0x80, 0x3F, 0, 0, 0x80, 0x3F}));
  spec.params.dispatch_format = dispatch_format::bf16;
  EXPECT_EQ(hidden_row(spec, 3), bytes({0x80, 0x3F, 0x80, 0x3F, 0x80, 0x3F})) << "of the format, not of the result";
}

TEST(generator_test, ones_of_formats_with_scales_have_scales_of_one) {
  for (const auto format : {dispatch_format::fp8, dispatch_format::fp8_block128, dispatch_format::mxfp8,
                            dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    auto spec = small_case(1);
    spec.values = hidden_values::ones;
    spec.params.hidden_size = 300;
    spec.params.dispatch_format = format;
    const auto row = hidden_row(spec, 5);
    std::vector<std::byte> scales(spec.params.dispatch_bytes().hidden_states_scale);
    step_generator(spec, 1, 0).fill_row(payload_kind::hidden_states_scale, 0, 5, scales.data());
    std::vector<float> values(300);
    reference::dequantise_row(format, row.data(), scales.data(), 1, values);
    EXPECT_EQ(values, std::vector<float>(300, 1.0F)) << to_string(format);
  }
}

// Elements of the format's own type, whatever the dtype of the result: finite but for special rows.
TEST(generator_test, rows_of_a_format_of_another_type_are_values_of_the_format) {
  auto spec = small_case(1);
  spec.num_tokens = spec.params.max_tokens_per_rank = 256;
  spec.params.dtype = dtype::fp32;
  spec.params.dispatch_format = dispatch_format::bf16;
  spec.params.hidden_size = 64;
  int odd = 0;
  for (std::int64_t token = 0; token < 256; ++token) {
    const auto row = hidden_row(spec, token);
    bool all = true;
    for (std::size_t j = 0; j < 64; ++j) {
      const auto magnitude = std::to_integer<unsigned>(row[2 * j + 1]) & 0x7FU;
      const bool zero = magnitude == 0 && row[2 * j] == std::byte{0};
      all = all && (zero || (magnitude >= 0x3B && magnitude <= 0x43));
    }
    odd += all ? 0 : 1;
  }
  EXPECT_LE(odd, 16);
  EXPECT_GE(odd, 1);
}

TEST(generator_test, nan_rows_are_every_fourth_and_nans_differ) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    auto spec = small_case(1);
    spec.params.dtype = type;
    spec.params.hidden_size = 512;
    spec.values = hidden_values::nan_rows;
    const unsigned all_ones = type == dtype::fp16 ? 0x1F : 0xFF;
    const std::uint32_t fraction = type == dtype::fp32 ? 0x7FFFFF : type == dtype::fp16 ? 0x3FF : 0x7F;
    auto plain = spec;
    plain.values = hidden_values::random;
    for (std::int64_t token = 0; token < 9; ++token) {
      const auto row = hidden_row(spec, token);
      if (token % 4 != 3) {
        EXPECT_EQ(row, hidden_row(plain, token));
        continue;
      }
      std::set<std::uint32_t> fractions;
      int negative = 0;
      for (std::size_t at = 0; at < 512; ++at) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, row.data() + at * itemsize(type), itemsize(type));
        ASSERT_EQ(element_at(type, row.data(), at).exponent, all_ones);
        ASSERT_NE(bits & fraction, 0U);
        fractions.insert(bits & fraction);
        negative += element_at(type, row.data(), at).negative ? 1 : 0;
      }
      EXPECT_GT(fractions.size(), 64U);
      EXPECT_NEAR(negative, 256, 57);  // five standard deviations of 512 coins
    }
  }
}

TEST(generator_test, bits_reach_every_exponent) {
  auto spec = small_case(1);
  spec.params.hidden_size = 4096;
  spec.values = hidden_values::bits;
  std::set<unsigned> exponents;
  for (std::int64_t token = 0; token < 2; ++token) {
    const auto row = hidden_row(spec, token);
    for (std::size_t at = 0; at < 4096; ++at) exponents.insert(element_at(dtype::bf16, row.data(), at).exponent);
  }
  EXPECT_EQ(exponents.size(), 256U);  // 8192 draws: one of 256 is missed with probability 256 * e^-32
}

TEST(generator_test, hard_words_come_to_every_place_of_a_vector) {
  auto spec = small_case(1);
  spec.params.hidden_size = 64;  // 16 words
  spec.params.max_tokens_per_rank = spec.num_tokens = 50;
  spec.runtime_max_tokens.reset();
  spec.values = hidden_values::hard_words;
  std::set<std::pair<std::uint64_t, std::size_t>> seen;
  std::size_t rows_with_one = 0;
  for (std::int64_t token = 0; token < 50; ++token) {
    const auto row = hidden_row(spec, token);
    std::size_t all_ones = 0;
    for (std::size_t at = 0; at < 16; ++at) {
      std::uint64_t word = 0;
      std::memcpy(&word, row.data() + 8 * at, sizeof word);
      seen.emplace(word, at % 8);
      all_ones += word == ~std::uint64_t{0} ? 1 : 0;
    }
    rows_with_one += all_ones == 1 ? 1 : 0;
  }
  for (const std::uint64_t word : {~std::uint64_t{0}, ~std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{1}}) {
    for (std::size_t place = 0; place < 8; ++place) EXPECT_TRUE(seen.contains({word, place})) << word << ' ' << place;
  }
  EXPECT_EQ(rows_with_one, 16U);  // tokens 1, 4 .. 46
}

TEST(generator_test, no_two_rows_are_alike) {
  auto spec = small_case(4);
  spec.params.hidden_size = 4;  // 8 bytes, the least that must suffice
  spec.params.max_tokens_per_rank = 500;
  spec.num_tokens = 500;
  spec.runtime_max_tokens.reset();
  std::set<std::array<std::byte, 8>> rows;
  for (int step = 0; step < 4; ++step) {
    const step_generator generator(spec, 1, step);
    for (int rank = 0; rank < 4; ++rank) {
      for (std::int64_t token = 0; token < 500; ++token) {
        std::array<std::byte, 8> row{};
        generator.fill_row(payload_kind::hidden_states, rank, token, row.data());
        EXPECT_TRUE(rows.insert(row).second) << "step " << step << " rank " << rank << " token " << token;
      }
    }
  }
}

TEST(generator_test, rows_depend_on_their_coordinates_alone) {
  auto spec = small_case(3);
  spec.variation = step_variation::vary;
  const step_generator one(spec, 1, 2);
  const step_generator same(spec, 1, 2);
  const step_generator other_seed(spec, 2, 2);
  std::vector<std::byte> first(48);
  std::vector<std::byte> again(48);
  one.fill_row(payload_kind::hidden_states, 2, 0, again.data());  // other rows in between change nothing
  one.fill_row(payload_kind::hidden_states, 1, 3, first.data());
  same.fill_row(payload_kind::hidden_states, 1, 3, again.data());
  EXPECT_EQ(first, again);
  other_seed.fill_row(payload_kind::hidden_states, 1, 3, again.data());
  EXPECT_NE(first, again);
}

TEST(generator_test, rows_end_where_they_should) {
  auto spec = small_case(1);
  spec.extra_bytes = 13;
  spec.params.hidden_size = 7;
  const step_generator generator(spec, 1, 0);
  for (const auto kind : all_payloads) {
    const std::size_t bytes = generator.row_bytes(kind);
    std::vector<std::byte> row(bytes + 8, std::byte{0xEE});
    generator.fill_row(kind, 0, 0, row.data());
    for (std::size_t at = bytes; at < row.size(); ++at) EXPECT_EQ(row[at], std::byte{0xEE}) << to_string(kind);
  }
}

}  // namespace
}  // namespace switchyard::harness
