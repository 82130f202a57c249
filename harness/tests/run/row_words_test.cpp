// SPDX-License-Identifier: Apache-2.0
// Words made one by one are those of the rows that the generator fills.
#include "row_words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "small_case.hpp"
#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t seed = 9;

void expect_the_rows(const case_spec& spec, payload_kind kind, random_use use) {
  for (const int step : {0, 3}) {
    const step_generator generator(spec, seed, step);
    const auto bytes = generator.row_bytes(kind);
    ASSERT_GT(bytes, 0U);
    std::vector<std::byte> row(bytes);
    const payload_law law{seed,
                          static_cast<std::uint64_t>(step),
                          use,
                          spec.values,
                          row_dtype(spec.params),
                          rows_are_elements(spec.params),
                          bytes,
                          spec.params.dispatch_format.value_or(dispatch_format::bf16),
                          static_cast<std::uint64_t>(spec.params.hidden_size)};
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      for (std::int64_t token = 0; token < spec.num_tokens; ++token) {
        generator.fill_row(kind, rank, token, row.data());
        const row_words words(law, rank, token);
        for (std::size_t at = 0; at < bytes; at += 8) {
          const auto word = words.at(at / 8);
          const auto length = std::min<std::size_t>(8, bytes - at);
          ASSERT_EQ(std::memcmp(&word, row.data() + at, length), 0)
              << to_string(kind) << " of token " << token << " of rank " << rank << " at byte " << at << ", values "
              << to_string(spec.values) << ", dtype " << to_string(spec.params.dtype);
        }
      }
    }
  }
}

TEST(row_words, are_those_of_hidden_states_of_every_kind) {
  for (const auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    for (const auto values : all_hidden_values) {
      for (const std::int64_t hidden_size : {5, 31, 32, 129}) {  // with and without a -0; odd ends
        auto spec = small_case(2);
        spec.params.dtype = type;
        spec.params.hidden_size = hidden_size;
        spec.params.max_tokens_per_rank = spec.num_tokens = 150;  // some rows of random bits are among them
        spec.runtime_max_tokens.reset();
        spec.values = values;
        expect_the_rows(spec, payload_kind::hidden_states, random_use::hidden_states);
      }
    }
  }
}

TEST(row_words, are_those_of_formats_with_scales_and_extra_bytes) {
  for (const auto format : {dispatch_format::fp8, dispatch_format::fp8_block128, dispatch_format::mxfp8,
                            dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    for (const auto values : {hidden_values::random, hidden_values::ones, hidden_values::bits}) {
      for (const std::int64_t hidden_size : {1, 17, 131, 640}) {
        auto spec = small_case(2);
        spec.params.dispatch_format = format;
        spec.params.hidden_size = hidden_size;
        spec.params.max_tokens_per_rank = spec.num_tokens = 80;  // some rows of random bits are among them
        spec.runtime_max_tokens.reset();
        spec.values = values;
        expect_the_rows(spec, payload_kind::hidden_states, random_use::hidden_states);
        expect_the_rows(spec, payload_kind::extra, random_use::extra);
        if (format == dispatch_format::fp8) continue;
        expect_the_rows(spec, payload_kind::hidden_states_scale, random_use::hidden_states_scale);
      }
    }
  }
}

// What travels stands for values as a model has them: finite, of both signs, in every block about as large as others.
TEST(row_words, of_formats_with_scales_stand_for_bell_shaped_values) {
  for (const auto format :
       {dispatch_format::fp8_block128, dispatch_format::mxfp8, dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    constexpr std::size_t elements = 4096;
    const quantised_row made(format, elements, 12345);
    std::vector<std::byte> row(bytes_of(format, elements).hidden_states);
    std::vector<std::byte> scales(bytes_of(format, elements).hidden_states_scale);
    std::vector<float> values(elements);
    for (std::size_t j = 0; j < elements; ++j) values[j] = made.value(j);
    reference::quantise_row(format, values, tensor_scale_of(format), row.data(), scales.data());
    std::vector<float> back(elements);
    reference::dequantise_row(format, row.data(), scales.data(), tensor_scale_of(format), back);
    std::size_t negative = 0;
    std::size_t zero = 0;
    double error = 0;
    double size = 0;
    const auto per_scale = reference::elements_per_scale(format);
    for (std::size_t j = 0; j < elements; ++j) {
      ASSERT_TRUE(std::isfinite(back[j])) << to_string(format) << j;
      negative += back[j] < 0 ? 1U : 0U;
      zero += values[j] == 0 ? 1U : 0U;
      double amax = 0;
      for (auto i = j / per_scale * per_scale; i < (j / per_scale + 1) * per_scale; ++i) {
        amax = std::max(amax, static_cast<double>(std::fabs(values[i])));
      }
      if (amax == 0) continue;
      error += std::fabs(static_cast<double>(back[j]) - static_cast<double>(values[j])) / amax;
      size += std::fabs(static_cast<double>(values[j])) / amax;
    }
    EXPECT_GT(negative, elements / 3);
    EXPECT_LT(negative, elements * 2 / 3);
    EXPECT_GT(zero, 0U) << "some block is all zeros";
    EXPECT_LT(error / size, reference::is_four_bit(format) ? 0.2 : 0.05) << to_string(format);
  }
}

}  // namespace
}  // namespace switchyard::harness
