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

constexpr std::size_t meta_row_bytes = 64;

phase_bytes bytes_with(int remote) {
  return phase_bytes_of(two_ranks(), routing_with(remote), row_bytes, meta_row_bytes);
}

// B30: another library printed rates from rows that never left the GPU.
TEST(bench_accounting, b30_all_local_is_no_traffic_and_no_rate) {
  const auto bytes = bytes_with(0);
  EXPECT_EQ(bytes.remote_bytes, 0U);
  EXPECT_EQ(bytes.meta_bytes, 0U);
  EXPECT_EQ(bytes.local_bytes, 10 * row_bytes);  // shown apart
  EXPECT_EQ(bytes.unique_bytes, 10 * row_bytes);
  EXPECT_EQ(bytes.selection_bytes, 20 * row_bytes);
  EXPECT_FALSE(bytes.wire_bytes);
  EXPECT_FALSE(rate_gb_s(bytes.remote_bytes, 5.0));
  EXPECT_FALSE(of_link(round_numbers(), bytes.remote_bytes, 5.0));
  EXPECT_DOUBLE_EQ(floor_us(round_numbers(), bytes.remote_bytes), 1.5);
}

TEST(bench_accounting, b30_all_remote_counts_each_token_once) {
  const auto bytes = bytes_with(10);
  EXPECT_EQ(bytes.remote_bytes, 10 * row_bytes);  // two experts of one rank are one row
  EXPECT_EQ(bytes.meta_bytes, 10 * meta_row_bytes);
  EXPECT_EQ(bytes.local_bytes, 0U);
  EXPECT_EQ(bytes.selection_bytes, 20 * row_bytes);
  EXPECT_DOUBLE_EQ(floor_us(round_numbers(), bytes.remote_bytes), 1.5 + 143360.0 / 400e3);
  EXPECT_DOUBLE_EQ(rate_gb_s(bytes.remote_bytes, 1.0).value(), 143.36);
  EXPECT_DOUBLE_EQ(of_link(round_numbers(), bytes.remote_bytes, 1.0).value(), 143.36 / 400);
}

TEST(bench_accounting, b30_half_remote_is_half_of_it) {
  const auto bytes = bytes_with(5);
  EXPECT_EQ(bytes.remote_bytes, 5 * row_bytes);
  EXPECT_EQ(bytes.local_bytes, 5 * row_bytes);
  EXPECT_EQ(bytes.unique_bytes, 10 * row_bytes);
}

TEST(bench_accounting, b30_no_time_above_the_floor_has_a_rate_above_the_link) {
  for (const int remote : {1, 5, 10}) {
    const auto bytes = bytes_with(remote).remote_bytes;
    EXPECT_LT(of_link(round_numbers(), bytes, floor_us(round_numbers(), bytes)).value(), 1.0);
  }
}

TEST(bench_accounting, the_busier_direction_counts) {
  auto routing = routing_with(10);
  routing[1] = routing_with(3)[1];
  EXPECT_EQ(phase_bytes_of(two_ranks(), routing, row_bytes, 0).remote_bytes, 10 * row_bytes);
}

// Hidden states and scales of a remote row, 10 of them; ids and weights of two slots beside.
TEST(bench_accounting, bytes_of_a_dispatch_are_those_of_its_format_with_scales) {
  constexpr struct {
    std::optional<dispatch_format> format;
    std::uint64_t row_bytes;
  } of_7168[] = {{std::nullopt, 14336},
                 {dispatch_format::bf16, 14336},
                 {dispatch_format::fp16, 14336},
                 {dispatch_format::fp8, 7168},
                 {dispatch_format::fp8_block128, 7168 + 4 * 56},
                 {dispatch_format::mxfp8, 7168 + 224},
                 {dispatch_format::nvfp4, 3584 + 448},
                 {dispatch_format::mxfp4, 3584 + 224}};
  for (const auto& one : of_7168) {
    auto shape = two_ranks();
    shape.params.dispatch_format = one.format;
    const auto bytes = dispatch_bytes_of(shape, routing_with(10));
    EXPECT_EQ(bytes.remote_bytes, 10 * one.row_bytes);
    EXPECT_EQ(bytes.meta_bytes, 10U * 2 * (4 + 4));
    EXPECT_EQ(dispatch_bytes_of(shape, routing_with(4)).local_bytes, 6 * one.row_bytes);
  }
  auto shape = two_ranks();
  shape.params.hidden_size = 2880;
  shape.params.dispatch_format = dispatch_format::fp8_block128;
  EXPECT_EQ(dispatch_bytes_of(shape, routing_with(1)).remote_bytes, 2880U + 4 * 23) << "22.5 blocks";
}

TEST(bench_accounting, bytes_of_a_combine_are_those_of_its_precision_whatever_dispatch_sent) {
  auto shape = two_ranks();
  shape.params.dispatch_format = dispatch_format::nvfp4;
  const auto remote = [&](low_precision combine) {
    const auto bytes = combine_bytes_of(shape, routing_with(10), combine);
    EXPECT_EQ(bytes.meta_bytes, 0U);
    return bytes.remote_bytes;
  };
  EXPECT_EQ(remote(low_precision::none), 10 * row_bytes);
  EXPECT_EQ(remote(low_precision::fp8), 10U * 7168);
  EXPECT_EQ(remote(low_precision::fp8_block_scaled), 10U * (7168 + 4 * 56));
}

/// Clocks of two ranks round three phases; the second rank comes `late_us` late to the phase in the middle, and both
/// leave it 10 us after that. Its clock is ahead by `ahead_ns`.
std::vector<std::vector<std::uint64_t>> stamps_with(std::uint64_t late_us, std::uint64_t ahead_ns) {
  constexpr std::uint64_t start = 1'700'000'000'000'000'000;  // as large as the clocks of GPUs are
  std::vector<std::vector<std::uint64_t>> stamps(2);
  for (std::uint64_t rank = 0; rank < 2; ++rank) {
    const auto in = 20'000 + rank * late_us * 1000;
    const auto out = 20'000 + late_us * 1000 + 10'000;
    for (const std::uint64_t at : {std::uint64_t{10'000}, in, out, out + 5'000}) {
      stamps[rank].push_back(start + at + rank * ahead_ns);
    }
  }
  return stamps;
}

// B32: a bench charged the jitter of a rank's host to the kernel, and fewer tokens looked slower.
TEST(bench_accounting, b32_a_late_rank_is_skew_and_not_time_of_the_phase) {
  constexpr std::uint64_t ahead_ns = 123'456'789;
  const std::vector<double> offsets{0, static_cast<double>(ahead_ns)};
  for (const std::uint64_t late_us : {0U, 1U, 40U, 100U}) {
    const auto spans = spans_of(stamps_with(late_us, ahead_ns), 1, 2, 0.5, offsets);
    ASSERT_EQ(spans.skew_us.size(), 1U);
    EXPECT_DOUBLE_EQ(spans.settled_us.front(), 9.5);  // whoever was late
    EXPECT_DOUBLE_EQ(spans.skew_us.front(), static_cast<double>(late_us));
    EXPECT_DOUBLE_EQ(spans.e2e_us.front(), 9.5 + static_cast<double>(late_us));
    EXPECT_DOUBLE_EQ(spans.kernel_us.front(), 9.5 + static_cast<double>(late_us));  // of the rank that waits
  }
}

TEST(bench_accounting, clocks_that_cannot_be_compared_have_no_skew) {
  const auto spans = spans_of(stamps_with(40, 5'000'000), 1, 2, 0.5, {});
  EXPECT_EQ(spans.kernel_us, std::vector<double>{49.5});
  EXPECT_TRUE(spans.skew_us.empty());
  EXPECT_TRUE(spans.e2e_us.empty());
  EXPECT_TRUE(spans.settled_us.empty());
}

TEST(bench_accounting, phases_of_a_chain_are_taken_in_turn) {
  const std::vector<std::vector<std::uint64_t>> stamps{{1000, 3000, 6000, 10'000, 15'000}};
  EXPECT_EQ(spans_of(stamps, 0, 2, 0, {}).kernel_us, (std::vector<double>{2, 4}));
  EXPECT_EQ(spans_of(stamps, 1, 2, 0, {}).kernel_us, (std::vector<double>{3, 5}));
}

TEST(bench_accounting, the_quickest_exchange_tells_the_offset_and_its_error) {
  EXPECT_FALSE(offset_of({}));
  constexpr std::uint64_t start = 1'700'000'000'000'000'000;
  const std::vector<clock_exchange> exchanges{{start, start + 9'000, start + 3'000},
                                              {start + 5'000, start + 12'000, start + 6'400},
                                              {start + 9'000, start + 19'000, start + 12'000}};
  const auto offset = offset_of(exchanges).value();
  EXPECT_DOUBLE_EQ(offset.offset_ns, 6'300);
  EXPECT_DOUBLE_EQ(offset.error_ns, 700);
  const auto behind = offset_of(std::vector<clock_exchange>{{start, start - 10'000, start + 1'000}}).value();
  EXPECT_DOUBLE_EQ(behind.offset_ns, -10'500);
}

TEST(bench_accounting, drift_between_two_comparisons_is_an_error_too) {
  const auto middle = midway({100, 50}, {140, 30});
  EXPECT_DOUBLE_EQ(middle.offset_ns, 120);
  EXPECT_DOUBLE_EQ(middle.error_ns, 50 + 20);
}

TEST(bench_accounting, copies_enough_that_the_cache_holds_none) {
  constexpr std::size_t cache = 60;
  EXPECT_EQ(copies_past_cache(1, cache, 40), 40U);   // a launch begins with an empty cache
  EXPECT_EQ(copies_past_cache(10, cache, 40), 13U);  // 12 others pass between two uses
  EXPECT_EQ(copies_past_cache(1000, cache, 40), 2U);
  EXPECT_EQ(copies_past_cache(0, cache, 40), 40U);
  EXPECT_EQ(copies_past_cache(1000, cache, 1), 1U);
}

TEST(bench_accounting, nothing_finer_than_a_coarse_clock) {
  EXPECT_DOUBLE_EQ(as_fine_as_clock_us(12.345678, 32), 12.346);
  EXPECT_DOUBLE_EQ(as_fine_as_clock_us(12.345678, 1000), 12);
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
  EXPECT_FALSE(order_statistics_of(values).p10);
  for (int i = 29; i <= 298; ++i) values.push_back(i);
  EXPECT_EQ(order_statistics_of(values).p90, 269);
  EXPECT_EQ(order_statistics_of(values).p10, 30);
  EXPECT_FALSE(order_statistics_of(values).p99);
  for (int i = 299; i <= 300; ++i) values.push_back(i);
  const auto of = order_statistics_of(values);
  EXPECT_EQ(of.count, 300U);
  EXPECT_EQ(of.p50, 150);
  EXPECT_EQ(of.p99, 297);
}

// A drift of one a turn: every transport has the same sum over two rounds.
TEST(bench_accounting, turns_go_to_and_fro) {
  EXPECT_EQ(turns_of_round(3, 0), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(turns_of_round(3, 1), (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(turns_of_round(1, 7), std::vector<std::size_t>{0});
  EXPECT_TRUE(turns_of_round(0, 0).empty());
}

}  // namespace
}  // namespace switchyard::harness
