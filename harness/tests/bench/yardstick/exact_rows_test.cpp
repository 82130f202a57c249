// SPDX-License-Identifier: Apache-2.0
#include "exact_rows.hpp"

#include <gtest/gtest.h>

#include "exact_element.hpp"

namespace switchyard::harness {
namespace {

reference::step_shape shape_of(int ranks, std::int64_t tokens_per_rank) {
  reference::step_shape shape;
  shape.ep_size = ranks;
  shape.params = {.num_experts = 6, .top_k = 2, .max_tokens_per_rank = tokens_per_rank, .hidden_size = 8};
  shape.tokens_per_rank = tokens_per_rank;
  return shape;
}

/// Three ranks with two experts each, T = 3. Rank 0: token 0 to ranks 0 and 1, token 1 to rank 2 alone, token 2 to
/// none. Rank 1: token 0 to ranks 0 and 2. Rank 2: nothing to send.
std::vector<reference::rank_routing> hand_made() { return {{3, {0, 3, 4, 5, -1, -1}}, {1, {5, 0}}, {0, {}}}; }

TEST(exact_rows, of_a_step_made_by_hand) {
  const auto all = exact_rows_of(shape_of(3, 3), hand_made());
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].owner_mask, (std::vector<std::uint32_t>{0b011, 0b100, 0}));
  EXPECT_EQ(all[0].sent, (std::vector<std::int64_t>{0, 1, 1}));
  EXPECT_EQ(all[0].received, (std::vector<std::int64_t>{1, 1, 0}));
  EXPECT_EQ(all[0].received_token, (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(all[0].packed_token, (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_EQ(all[0].packed_place, (std::vector<std::int32_t>{local_place(0), remote_place(0), remote_place(1)}));
  EXPECT_EQ(all[0].summed_place, (std::vector<std::int32_t>{local_place(0), remote_place(0), no_place,  //
                                                            no_place, no_place, remote_place(1),        //
                                                            no_place, no_place, no_place}));
  EXPECT_EQ(all[2].received, (std::vector<std::int64_t>{1, 1, 0}));
  EXPECT_EQ(all[2].received_token, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(all[2].sent_rows(), 0);
}

TEST(exact_rows, a_rank_in_the_middle_keeps_its_own_rows_in_their_place) {
  // Every token of three ranks goes to rank 1.
  const std::vector<reference::rank_routing> routing{{2, {2, 3, 2, 3}}, {2, {2, 3, 2, 3}}, {2, {2, 3, 2, 3}}};
  const auto all = exact_rows_of(shape_of(3, 2), routing);
  EXPECT_EQ(all[1].received, (std::vector<std::int64_t>{2, 2, 2}));
  EXPECT_EQ(all[1].packed_place, (std::vector<std::int32_t>{local_place(2), local_place(3)}));
  EXPECT_EQ(all[1].sent_rows(), 0);
}

TEST(exact_rows, what_is_sent_is_what_is_received_and_what_the_golden_model_counts) {
  const auto shape = shape_of(3, 3);
  const auto routing = hand_made();
  const auto all = exact_rows_of(shape, routing);
  const auto traffic = reference::count_traffic(shape, routing, 1);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    EXPECT_EQ(static_cast<std::uint64_t>(all[rank].sent_rows()), traffic[rank].remote_send_bytes);
    for (std::size_t peer = 0; peer < all.size(); ++peer) {
      if (peer == rank) continue;
      EXPECT_EQ(all[rank].sent[peer], all[peer].received[rank]);
    }
  }
}

TEST(exact_element, sums_of_eight_ranks_are_exact_in_bf16) {
  for (std::uint32_t element = 0; element < 4096; ++element) {
    int sum = 0;
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      const auto value = exact_element(rank, 17, element);
      ASSERT_TRUE(-8 <= value && value <= 8);
      sum += value;
    }
    ASSERT_LE(std::abs(sum), 256);
  }
  EXPECT_NE(exact_element(0, 1, 2), exact_element(1, 1, 2));
}

}  // namespace
}  // namespace switchyard::harness
