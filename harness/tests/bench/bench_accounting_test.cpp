// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_accounting.hpp"

#include <gtest/gtest.h>

namespace switchyard::harness {
namespace {

constexpr std::size_t row_bytes = 14336;

/// Two ranks with 8 experts, 0..3 on rank 0; `remote` of the 10 tokens of each rank go to the other, the others stay.
std::vector<reference::rank_routing> routing_with(int remote) {
  std::vector<reference::rank_routing> routing(2);
  for (int rank = 0; rank < 2; ++rank) {
    auto& mine = routing[static_cast<std::size_t>(rank)];
    mine.num_tokens = 10;
    for (int token = 0; token < 10; ++token) {
      const int owner = token < remote ? 1 - rank : rank;
      mine.topk_ids.push_back(4 * owner);
      mine.topk_ids.push_back(4 * owner + 3);
    }
  }
  return routing;
}

reference::step_shape two_ranks() {
  reference::step_shape shape;
  shape.ep_size = 2;
  shape.params = {.num_experts = 8, .top_k = 2, .max_tokens_per_rank = 10, .hidden_size = 7168};
  shape.tokens_per_rank = 10;
  return shape;
}

link_yardstick round_numbers() {
  link_yardstick link;
  link.push_both_ways_gb_s = 400;
  link.flag_latency_us = 0.5;
  link.empty_node_us = 1.0;
  return link;
}

// B30: another library printed rates from rows that never left the GPU.
TEST(bench_accounting, b30_all_local_is_no_traffic_and_no_rate) {
  const auto bytes = remote_bytes_of(two_ranks(), routing_with(0), row_bytes);
  EXPECT_EQ(bytes, 0U);
  EXPECT_FALSE(rate_gb_s(bytes, 5.0));
  EXPECT_FALSE(of_link(round_numbers(), bytes, 5.0));
  EXPECT_DOUBLE_EQ(floor_us(round_numbers(), bytes), 1.5);
}

TEST(bench_accounting, b30_all_remote_counts_each_token_once) {
  const auto bytes = remote_bytes_of(two_ranks(), routing_with(10), row_bytes);
  EXPECT_EQ(bytes, 10 * row_bytes);  // two experts of one rank are one row
  EXPECT_DOUBLE_EQ(floor_us(round_numbers(), bytes), 1.5 + 143360.0 / 400e3);
  EXPECT_DOUBLE_EQ(rate_gb_s(bytes, 1.0).value(), 143.36);
  EXPECT_DOUBLE_EQ(of_link(round_numbers(), bytes, 1.0).value(), 143.36 / 400);
}

TEST(bench_accounting, b30_half_remote_is_half_of_it) {
  EXPECT_EQ(remote_bytes_of(two_ranks(), routing_with(5), row_bytes), 5 * row_bytes);
}

TEST(bench_accounting, the_busier_direction_counts) {
  auto routing = routing_with(10);
  routing[1] = routing_with(3)[1];
  EXPECT_EQ(remote_bytes_of(two_ranks(), routing, row_bytes), 10 * row_bytes);
}

TEST(bench_accounting, slowest_rank_first_then_the_median) {
  const std::vector<std::vector<double>> ranks{{1, 9, 3}, {2, 4, 5}};
  EXPECT_EQ(max_over_ranks(ranks), (std::vector<double>{2, 9, 5}));
  EXPECT_EQ(median_of(max_over_ranks(ranks)), 5);
  EXPECT_EQ(median_of({4, 1}), 2.5);
}

TEST(bench_accounting, percentiles_need_their_count) {
  std::vector<double> values;
  EXPECT_FALSE(order_statistics_of(values).p50);
  for (int i = 1; i <= 28; ++i) values.push_back(i);
  EXPECT_FALSE(order_statistics_of(values).p90);
  for (int i = 29; i <= 298; ++i) values.push_back(i);
  EXPECT_EQ(order_statistics_of(values).p90, 269);
  EXPECT_FALSE(order_statistics_of(values).p99);
  for (int i = 299; i <= 300; ++i) values.push_back(i);
  const auto of = order_statistics_of(values);
  EXPECT_EQ(of.count, 300U);
  EXPECT_EQ(of.p50, 150);
  EXPECT_EQ(of.p99, 297);
}

}  // namespace
}  // namespace switchyard::harness
