// SPDX-License-Identifier: Apache-2.0
// Words made one by one are those of the rows that the generator fills.
#include "row_words.hpp"

#include <gtest/gtest.h>

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
    const payload_law law{
        seed, static_cast<std::uint64_t>(step), use, spec.values, spec.params.dtype, rows_are_elements(spec.params),
        bytes};
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

TEST(row_words, are_those_of_opaque_formats_scales_and_extra_bytes) {
  for (const auto format : {dispatch_format::fp8_block128, dispatch_format::mxfp8, dispatch_format::nvfp4}) {
    for (const auto values : {hidden_values::random, hidden_values::ones, hidden_values::bits}) {
      auto spec = small_case(2);
      spec.params.dispatch_format = format;
      spec.params.hidden_size = 131;
      spec.values = values;
      expect_the_rows(spec, payload_kind::hidden_states, random_use::hidden_states);
      expect_the_rows(spec, payload_kind::hidden_states_scale, random_use::hidden_states_scale);
      expect_the_rows(spec, payload_kind::extra, random_use::extra);
    }
  }
}

}  // namespace
}  // namespace switchyard::harness
