// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_device_state.hpp"

#include <gtest/gtest.h>

#include "sample_bench.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_device_state, warmth_traffic_and_idleness_do_not_mark_a_launch) {
  auto after = quiet_state();
  after.temperature_c = 40;
  after.nvlink_data_tx_kib = 5000;
  after.throttle_reasons = 1;
  EXPECT_EQ(what_moved(quiet_state(), after), "");
}

TEST(bench_device_state, each_of_the_others_does_and_is_named) {
  auto after = quiet_state();
  after.sm_clock_mhz = 1700;
  EXPECT_EQ(what_moved(quiet_state(), after), "sm_clock_mhz from 1980 to 1700");
  after = quiet_state();
  after.throttle_reasons = 4;
  after.ecc_corrected = 2;
  EXPECT_EQ(what_moved(quiet_state(), after), "throttle_reasons from 0 to 4, ecc_corrected from 0 to 2");
  after = quiet_state();
  after.nvlink_errors = 1;
  EXPECT_EQ(what_moved(quiet_state(), after), "nvlink_errors from 0 to 1");
  after = quiet_state();
  after.memory_clock_mhz.reset();
  EXPECT_EQ(what_moved(quiet_state(), after), "memory_clock_mhz from 3201 to null");
}

TEST(bench_device_state, a_mark_names_the_launch_and_the_rank_and_drops_nothing) {
  auto slow = quiet_state();
  slow.sm_clock_mhz = 1200;
  // Three launches: rank 1 slows down in the second and stays slow.
  const std::vector<std::vector<device_state>> readings{
      {quiet_state(), quiet_state()}, {quiet_state(), quiet_state()}, {quiet_state(), slow}, {quiet_state(), slow}};
  EXPECT_EQ(marks_of(readings), (std::vector<marked_launch>{{1, 1, "sm_clock_mhz from 1980 to 1200"}}));
  EXPECT_TRUE(marks_of({}).empty());
}

TEST(bench_device_state, marks_go_to_whose_turn_it_was) {
  auto slow = quiet_state();
  slow.sm_clock_mhz = 1200;
  // Launches of 0, 1, 1, 0: the clock falls during the second of 1 and rises again during the second of 0.
  const std::vector<std::vector<device_state>> readings{
      {quiet_state()}, {quiet_state()}, {quiet_state()}, {slow}, {quiet_state()}};
  const auto marks = marks_of_turns(readings, {0, 1, 1, 0}, 2);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0], (std::vector<marked_launch>{{1, 0, "sm_clock_mhz from 1200 to 1980"}}));
  EXPECT_EQ(marks[1], (std::vector<marked_launch>{{1, 0, "sm_clock_mhz from 1980 to 1200"}}));
}

TEST(bench_device_state, bytes_of_links_need_both_readings_and_no_step_back) {
  auto after = quiet_state();
  after.nvlink_data_tx_kib = 3000;
  EXPECT_DOUBLE_EQ(link_bytes_per_step(quiet_state(), after, 1000).value(), 2048);
  EXPECT_FALSE(link_bytes_per_step(after, quiet_state(), 1000));
  EXPECT_FALSE(link_bytes_per_step(quiet_state(), after, 0));
  EXPECT_FALSE(link_bytes_per_step({}, after, 1000));
}

}  // namespace
}  // namespace switchyard::harness
