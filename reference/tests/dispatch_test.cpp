// SPDX-License-Identifier: Apache-2.0
// Where tokens land, worked out on paper for small groups.
#include <gtest/gtest.h>

#include <vector>

#include "rows.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference {
namespace {

using tests::shape_of;
using counts = std::vector<std::int32_t>;
using tokens = std::vector<std::int64_t>;

// 10 experts on 4 ranks: 0-2, 3-5, 6-7, 8-9. T = 3; rank 1 has no token, rank 3 fills its rows.
TEST(dispatch, uneven_owners_and_uneven_tokens) {
  const std::vector<rank_routing> routing{
      {2, {0, 9, /**/ 3, 8}},
      {0, {}},
      {1, {2, 3}},
      {3, {1, 2, /**/ 6, 0, /**/ 9, 5}},
  };
  const auto ranks = dispatch(shape_of(4, 10, 2, 3), routing);
  ASSERT_EQ(ranks.size(), 4U);
  EXPECT_EQ(ranks[0].recv_counts, (counts{1, 0, 1, 2}));
  EXPECT_EQ(ranks[0].source_tokens, (tokens{0, -1, -1, /**/ -1, -1, -1, /**/ 0, -1, -1, /**/ 0, 1, -1}));
  EXPECT_EQ(ranks[1].recv_counts, (counts{1, 0, 1, 1}));
  EXPECT_EQ(ranks[1].source_tokens, (tokens{1, -1, -1, /**/ -1, -1, -1, /**/ 0, -1, -1, /**/ 2, -1, -1}));
  EXPECT_EQ(ranks[2].recv_counts, (counts{0, 0, 0, 1}));
  EXPECT_EQ(ranks[2].source_tokens, (tokens{-1, -1, -1, /**/ -1, -1, -1, /**/ -1, -1, -1, /**/ 1, -1, -1}));
  EXPECT_EQ(ranks[3].recv_counts, (counts{2, 0, 0, 1}));
  EXPECT_EQ(ranks[3].source_tokens, (tokens{0, 1, -1, /**/ -1, -1, -1, /**/ -1, -1, -1, /**/ 2, -1, -1}));
}

TEST(dispatch, rows_are_packed_in_source_order) {  // tokens 1 and 3 of rank 0 go to rank 1
  const auto ranks = dispatch(shape_of(2, 4, 1, 5), std::vector<rank_routing>{{5, {0, 2, 1, 3, 0}}, {1, {3}}});
  EXPECT_EQ(ranks[0].source_tokens, (tokens{0, 2, 4, -1, -1, /**/ -1, -1, -1, -1, -1}));
  EXPECT_EQ(ranks[1].source_tokens, (tokens{1, 3, -1, -1, -1, /**/ 0, -1, -1, -1, -1}));
  EXPECT_EQ(ranks[1].recv_counts, (counts{2, 1}));
}

TEST(dispatch, positional_rows_stand_where_their_tokens_do) {  // the same routing, and the same counts
  auto shape = shape_of(2, 4, 1, 5);
  shape.rows = row_order::positional;
  const auto ranks = dispatch(shape, std::vector<rank_routing>{{5, {0, 2, 1, 3, 0}}, {1, {3}}});
  EXPECT_EQ(ranks[0].source_tokens, (tokens{0, -1, 2, -1, 4, /**/ -1, -1, -1, -1, -1}));
  EXPECT_EQ(ranks[0].recv_counts, (counts{3, 0}));
  EXPECT_EQ(ranks[1].source_tokens, (tokens{-1, 1, -1, 3, -1, /**/ 0, -1, -1, -1, -1}));
  EXPECT_EQ(ranks[1].recv_counts, (counts{2, 1}));
}

TEST(dispatch, stride_larger_than_any_token_count) {
  step_shape shape = shape_of(2, 2, 1, 4);
  shape.params.max_tokens_per_rank = 100;
  const auto ranks = dispatch(shape, std::vector<rank_routing>{{1, {1}}, {2, {1, 0}}});
  EXPECT_EQ(ranks[0].source_tokens, (tokens{-1, -1, -1, -1, /**/ 1, -1, -1, -1}));
  EXPECT_EQ(ranks[1].source_tokens, (tokens{0, -1, -1, -1, /**/ 0, -1, -1, -1}));
}

TEST(dispatch, a_step_without_tokens_is_legal) {
  const auto ranks = dispatch(shape_of(3, 3, 1, 2), std::vector<rank_routing>(3));
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank.recv_counts, counts(3, 0));
    EXPECT_EQ(rank.source_tokens, tokens(6, -1));
  }
}

TEST(dispatch, one_rank_keeps_all_but_the_tokens_without_expert) {
  const auto ranks = dispatch(shape_of(1, 4, 2, 3), std::vector<rank_routing>{{3, {0, 3, /**/ -1, -1, /**/ 2, -1}}});
  EXPECT_EQ(ranks[0].recv_counts, (counts{2}));
  EXPECT_EQ(ranks[0].source_tokens, (tokens{0, 2, -1}));
}

// Padding ids were once sent to rank 0, whose owner formula -1 satisfies when the division truncates towards zero.
TEST(dispatch, padding_ids_go_nowhere) {
  constexpr std::int64_t num_tokens = 1024;
  const step_shape shape = shape_of(4, 32, 8, num_tokens);
  std::vector<rank_routing> routing;
  for (int rank = 0; rank < 4; ++rank) {
    rank_routing ids{num_tokens, std::vector<std::int32_t>(num_tokens * 8, -1)};
    const std::int64_t real = rank == 0 ? num_tokens : num_tokens / 2;
    for (std::int64_t token = 0; token < real; ++token) {  // eight experts of the ranks 1 to 3: none is expert 0's rank
      for (std::int64_t k = 0; k < 8; ++k) {
        ids.topk_ids[static_cast<std::size_t>(token * 8 + k)] = static_cast<std::int32_t>(8 + (token + 3 * k) % 24);
      }
    }
    routing.push_back(ids);
  }
  const auto ranks = dispatch(shape, routing);
  EXPECT_EQ(ranks[0].recv_counts, (counts{0, 0, 0, 0}));
  for (std::size_t rank = 1; rank < 4; ++rank) {  // steps of 3 through 24 experts visit all three ranks
    EXPECT_EQ(ranks[rank].recv_counts, (counts{1024, 512, 512, 512}));
  }
}

TEST(dispatch, mixed_rows_count_only_their_valid_slots) {  // 32 experts on 4 ranks: eight each
  const std::vector<rank_routing> routing{
      {4, {-1, 5, 17, -1, /**/ 5, -1, 17, 6, /**/ 31, 17, 30, -1, /**/ -1, -1, -1, -1}}, {0, {}}, {0, {}}, {0, {}}};
  const auto ranks = dispatch(shape_of(4, 32, 4, 4), routing);
  EXPECT_EQ(ranks[0].recv_counts[0], 2);
  EXPECT_EQ(ranks[1].recv_counts[0], 0);
  EXPECT_EQ(ranks[2].recv_counts[0], 3);
  EXPECT_EQ(ranks[3].recv_counts[0], 1);
  EXPECT_EQ(ranks[3].source_tokens[0], 2);
}

// A row may name one expert in all its slots: NaN activations make top-k do so.
TEST(dispatch, repeated_experts_are_one_transfer) {
  const std::vector<rank_routing> routing{
      {3, {3, 3, 3, 3, 3, 3, 3, 3, /**/ 3, 3, 3, 3, 7, 7, 7, 7, /**/ 3, 3, 3, 3, 8, 8, 8, 8}}, {0, {}}};
  const auto ranks = dispatch(shape_of(2, 16, 8, 3), routing);
  EXPECT_EQ(ranks[0].recv_counts, (counts{3, 0}));
  EXPECT_EQ(ranks[0].source_tokens, (tokens{0, 1, 2, /**/ -1, -1, -1}));
  EXPECT_EQ(ranks[1].recv_counts, (counts{1, 0}));
  EXPECT_EQ(ranks[1].source_tokens, (tokens{2, -1, -1, /**/ -1, -1, -1}));
}

TEST(dispatch, another_invalid_id_means_the_same) {
  step_shape shape = shape_of(2, 4, 2, 1);
  shape.params.invalid_expert_id = 4;
  const auto ranks = dispatch(shape, std::vector<rank_routing>{{1, {4, 3}}, {1, {-7, 4}}});
  EXPECT_EQ(ranks[0].recv_counts, (counts{0, 0}));
  EXPECT_EQ(ranks[1].recv_counts, (counts{1, 0}));
}

}  // namespace
}  // namespace switchyard::reference
