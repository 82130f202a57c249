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
  point.cold_us = {{20, 22, 21}, {23, 19, 21}};
  point.eager_us = {{30, 32, 31}, {33, 29, 31}};
  point.dispatch.bytes = {remote_bytes, 100, remote_bytes + 100, 2 * remote_bytes, 64, {}};
  point.dispatch.spans.kernel_us = {4, 5, 6};
  point.dispatch.stream_us = {7, 8, 9};
  point.combine.bytes = {remote_bytes, 100, remote_bytes + 100, 2 * remote_bytes, 0, {}};
  point.combine.spans.kernel_us = {6, 7, 8};
  point.combine.stream_us = {9, 9, 10};
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
  const auto json = to_json(some_point(0), some_link(), {});
  EXPECT_TRUE(json["round_trip"]["wire_bw_gb_s"].is_null());
  EXPECT_TRUE(json["dispatch"]["of_link"].is_null());
  EXPECT_NE(bench_table({some_point(0)}, some_link(), {}).find("| null |"), std::string::npos);
}

TEST(bench_record, samples_are_kept_and_few_ones_say_so) {
  const auto json = to_json(some_point(400'000), some_link(), {});
  EXPECT_EQ(json["round_trip"]["raw_us_of_ranks"].dump(), "[[10.0,12.0,11.0],[13.0,9.0,11.0]]");
  EXPECT_EQ(json["cold"]["raw_us_of_ranks"].dump(), "[[20.0,22.0,21.0],[23.0,19.0,21.0]]");
  EXPECT_EQ(json["eager"]["time_us"], 32.0);
  EXPECT_EQ(json["dispatch"]["kernel_us"]["raw_us"].size(), 3U);
  EXPECT_EQ(json["combine"]["stream_us"]["count"], 3);
  EXPECT_EQ(json["combine"]["kernel_us"]["p90_us"], "insufficient");
}

TEST(bench_record, what_was_not_measured_is_null) {
  const auto json = to_json(some_point(400'000), some_link(), {});
  EXPECT_TRUE(json["dispatch"]["skew_us"].is_null());
  EXPECT_TRUE(json["dispatch"]["e2e_us"].is_null());
  EXPECT_TRUE(json["dispatch"]["wire_bytes"].is_null());
  EXPECT_TRUE(json["clock_error_us"].is_null());
  EXPECT_TRUE(json["round_trip"]["marked_launches"].is_null());
  const auto machine = bench_header_json({}, {{{"a GPU", {}}}, {}, "no library", {}, {}}, {}, "now")["machine"];
  EXPECT_TRUE(machine["gpus"][0]["numa_node"].is_null());
  EXPECT_TRUE(machine["driver_version"].is_null());
  EXPECT_EQ(machine["states_not_read_because"], "no library");
}

// B30: rates that count local rows are never the headline, and never without their name.
TEST(bench_record, b30_rates_with_local_rows_come_on_request_and_by_name) {
  const auto without = to_json(some_point(400'000), some_link(), {});
  EXPECT_FALSE(without["round_trip"].contains("logical_bw_gb_s"));
  EXPECT_EQ(without["dispatch"]["local_bytes"], 100);
  EXPECT_EQ(bench_table({some_point(400'000)}, some_link(), {}).find("logical"), std::string::npos);
  const auto with = to_json(some_point(400'000), some_link(), {.logical = true, .selection = true});
  EXPECT_DOUBLE_EQ(with["round_trip"]["logical_bw_gb_s"], 800.2 / 12);
  EXPECT_DOUBLE_EQ(with["round_trip"]["selection_bw_gb_s"], 1600.0 / 12);
  EXPECT_NE(bench_table({some_point(400'000)}, some_link(), {.logical = true}).find("logical GB/s"), std::string::npos);
}

TEST(bench_record, marks_and_link_counters_stand_in_the_record) {
  auto point = some_point(400'000);
  device_state before;
  before.sm_clock_mhz = 1980;
  before.nvlink_data_tx_kib = 1000;
  auto after = before;
  after.nvlink_data_tx_kib = 1100;
  point.before = {before, {}};
  point.after = {after, {}};
  point.steps_between = 100;
  point.marked = std::vector<marked_launch>{{2, 1, "sm_clock_mhz from 1980 to 1700"}};
  const auto trip = to_json(point, some_link(), {})["round_trip"];
  EXPECT_EQ(trip["marked_launches"][0]["launch"], 2);
  EXPECT_EQ(trip["link_tx_bytes_per_step_of_ranks"].dump(), "[1024.0,null]");
  EXPECT_EQ(trip["states_after"][0]["sm_clock_mhz"], 1980);
  EXPECT_TRUE(trip["states_after"][1]["sm_clock_mhz"].is_null());
}

}  // namespace
}  // namespace switchyard::harness
