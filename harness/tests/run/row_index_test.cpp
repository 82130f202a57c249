// SPDX-License-Identifier: Apache-2.0
// Rows are found again, and only they.
#include "switchyard/harness/row_index.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "small_case.hpp"

namespace switchyard::harness {
namespace {

TEST(row_index_test, finds_every_row_of_every_payload) {
  auto spec = small_case(3);
  spec.params.dispatch_format = dispatch_format::mxfp8;
  spec.params.hidden_size = 256;  // 8 bytes of scales
  row_index rows(spec, 9);
  for (const int step : {0, 3}) {
    const step_generator generator(spec, 9, step);
    for (const auto kind : {payload_kind::hidden_states, payload_kind::topk_weights, payload_kind::hidden_states_scale,
                            payload_kind::extra}) {
      std::vector<std::byte> row(generator.row_bytes(kind));
      for (int rank = 0; rank < 3; ++rank) {
        for (std::int64_t token = 0; token < spec.num_tokens; ++token) {
          generator.fill_row(kind, rank, token, row.data());
          EXPECT_EQ(rows.find(kind, step, row), (row_origin{step, rank, token})) << to_string(kind);
          EXPECT_FALSE(rows.find(kind, 1, row)) << "a row of another step";
        }
      }
      row[0] ^= std::byte{1};
      EXPECT_FALSE(rows.find(kind, step, row));
      row.pop_back();
      EXPECT_FALSE(rows.find(kind, step, row)) << "a row of another width";
    }
  }
}

TEST(row_index_test, of_equal_rows_the_first_is_named) {
  auto spec = small_case(2);
  spec.params.num_experts = 2;
  spec.params.top_k = 1;  // 18 tokens share two rows
  row_index rows(spec, 9);
  const std::int32_t expert = 1;
  const auto found = rows.find(payload_kind::topk_ids, 0, std::as_bytes(std::span(&expert, 1)));
  ASSERT_TRUE(found);
  const step_generator generator(spec, 9, 0);
  std::int32_t id = -1;
  for (std::int64_t token = 0; token <= found->token; ++token) {
    generator.fill_row(payload_kind::topk_ids, 0, token, reinterpret_cast<std::byte*>(&id));
    EXPECT_EQ(id == expert, token == found->token);
  }
  EXPECT_EQ(found->rank, 0);
}

TEST(row_index_test, steps_outside_the_case_have_no_rows) {
  const auto spec = small_case(2);
  row_index rows(spec, 9);
  const std::vector<std::byte> row(48);
  EXPECT_FALSE(rows.find(payload_kind::hidden_states, -1, row));
  EXPECT_FALSE(rows.find(payload_kind::hidden_states, spec.steps, row));
}

TEST(row_index_test, hash_depends_on_every_byte_and_on_the_length) {
  std::vector<std::byte> row(37);
  const auto hash = hash_row(row);
  for (auto& byte : row) {
    byte ^= std::byte{0x80};
    EXPECT_NE(hash_row(row), hash);
    byte ^= std::byte{0x80};
  }
  EXPECT_EQ(hash_row(row), hash);
  row.pop_back();
  EXPECT_NE(hash_row(row), hash);
}

}  // namespace
}  // namespace switchyard::harness
