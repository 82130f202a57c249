// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_record.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace switchyard::harness {
namespace {

link_yardstick some_link() {
  link_yardstick link;
  link.push_both_ways_gb_s = 400;
  link.flag_latency_us = 0.5;
  link.empty_node_us = 1.0;
  return link;
}

bench_point some_point(std::uint64_t remote_bytes) {
  bench_point point;
  point.tokens = 16;
  point.round_trip_us = {{10, 12, 11}, {13, 9, 11}};
  point.dispatch = {remote_bytes, {4, 5, 6}};
  point.combine = {remote_bytes, {6, 7, 8}};
  return point;
}

TEST(bench_record, figures_take_the_slowest_rank_of_each_launch) {
  const auto figures = figures_of(some_point(400'000), some_link());
  EXPECT_DOUBLE_EQ(figures.round_trip_us, 12);  // of 13, 12, 11
  EXPECT_DOUBLE_EQ(figures.round_trip_floor_us, 5);
  EXPECT_DOUBLE_EQ(figures.round_trip_of_floor, 12.0 / 5);
  EXPECT_DOUBLE_EQ(figures.wire_bw_gb_s.value(), 800.0 / 12);
  EXPECT_DOUBLE_EQ(figures.of_link.value(), 800.0 / 12 / 400);
}

TEST(bench_record, no_bytes_have_no_rate) {
  const auto json = to_json(some_point(0), some_link());
  EXPECT_TRUE(json["round_trip"]["wire_bw_gb_s"].is_null());
  EXPECT_TRUE(json["dispatch"]["of_link"].is_null());
  EXPECT_NE(bench_table({some_point(0)}, some_link()).find("| null |"), std::string::npos);
}

TEST(bench_record, samples_are_kept_and_few_ones_say_so) {
  const auto json = to_json(some_point(400'000), some_link());
  EXPECT_EQ(json["round_trip"]["raw_us_of_ranks"].dump(), "[[10.0,12.0,11.0],[13.0,9.0,11.0]]");
  EXPECT_EQ(json["dispatch"]["raw_us"].size(), 3U);
  EXPECT_EQ(json["combine"]["steps"]["count"], 3);
  EXPECT_EQ(json["combine"]["steps"]["p90_us"], "insufficient");
}

}  // namespace
}  // namespace switchyard::harness
