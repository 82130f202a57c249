// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_record, figures_take_the_slowest_rank_of_each_launch) {
  const auto figures = figures_of(sample_point(400'000), sample_link());
  EXPECT_DOUBLE_EQ(figures.round_trip_us, 12);  // of 13, 12, 11
  EXPECT_DOUBLE_EQ(figures.round_trip_floor_us, 5);
  EXPECT_DOUBLE_EQ(figures.round_trip_of_floor, 12.0 / 5);
  EXPECT_DOUBLE_EQ(figures.wire_bw_gb_s.value(), 800.0 / 12);
  EXPECT_DOUBLE_EQ(figures.of_link.value(), 800.0 / 12 / 400);
}

TEST(bench_record, no_bytes_have_no_rate) {
  const auto json = to_json(sample_point(0), sample_link(), {});
  EXPECT_TRUE(json["round_trip"]["wire_bw_gb_s"].is_null());
  EXPECT_TRUE(json["dispatch"]["of_link"].is_null());
  EXPECT_NE(bench_table({sample_point(0)}, sample_link(), {}).find("| null |"), std::string::npos);
}

TEST(bench_record, samples_are_kept_and_few_ones_say_so) {
  const auto json = to_json(sample_point(400'000), sample_link(), {});
  EXPECT_EQ(json["round_trip"]["raw_us_of_ranks"].dump(), "[[10.0,12.0,11.0],[13.0,9.0,11.0]]");
  EXPECT_EQ(json["cold"]["raw_us_of_ranks"].dump(), "[[20.0,22.0,21.0],[23.0,19.0,21.0]]");
  EXPECT_EQ(json["eager"]["time_us"], 32.0);
  EXPECT_EQ(json["dispatch"]["kernel_us"]["raw_us"].size(), 3U);
  EXPECT_EQ(json["combine"]["stream_us"]["count"], 3);
  EXPECT_EQ(json["combine"]["kernel_us"]["p90_us"], "insufficient");
}

TEST(bench_record, what_was_not_measured_is_null) {
  const auto json = to_json(sample_point(400'000), sample_link(), {});
  EXPECT_TRUE(json["dispatch"]["skew_us"].is_null());
  EXPECT_TRUE(json["dispatch"]["e2e_us"].is_null());
  EXPECT_TRUE(json["dispatch"]["wire_bytes"].is_null());
  EXPECT_TRUE(json["clock_error_us"].is_null());
  EXPECT_TRUE(json["round_trip"]["marked_launches"].is_null());
  const auto machine = bench_header_json({}, {{{"a GPU", {}}}, {}, "no library", {}, {}}, {}, "now")["machine"];
  EXPECT_TRUE(machine["gpus"][0]["numa_node"].is_null());
  EXPECT_TRUE(machine["driver_version"].is_null());
  EXPECT_TRUE(machine["gpus"][0]["uuid"].is_null());
  EXPECT_TRUE(machine["gpus"][0]["nvlinks_count"].is_null());
  EXPECT_EQ(machine["states_not_read_because"], "no library");
}

TEST(bench_record, a_point_names_what_it_was_asked_to_go_by_and_what_it_went_by) {
  auto point = sample_point(400'000);
  point.taken = transport::lamport;
  point.taken_because = "few tokens";
  const auto json = to_json(point, sample_link(), {});
  EXPECT_EQ(json["transport"], "auto");
  EXPECT_EQ(json["taken"], "lamport");
  EXPECT_EQ(json["taken_because"], "few tokens");
  EXPECT_NE(bench_table({point}, sample_link(), {}).find("| 16 | auto: lamport | 12.00 |"), std::string::npos);
  point.asked = bench_transport::lamport;
  EXPECT_NE(bench_table({point}, sample_link(), {}).find("| 16 | lamport | 12.00 |"), std::string::npos);
  auto options = sample_options();
  options.transports = {bench_transport::fence, bench_transport::automatic};
  const auto header = bench_header_json(read_environment(), sample_machine(), options, "now");
  EXPECT_EQ(
      header["testbed"]["key"].get<std::string>().rfind("2 x GPU, links 18 x 26562 MB/s, driver 580, CUDA 13.0, ", 0),
      0U);
  EXPECT_EQ(header["arguments"].dump(), R"(["bench","--ranks","2"])");
  EXPECT_EQ(bench_header_json({}, sample_machine(), options, "now")["options"]["transports"].dump(),
            "[\"fence\",\"auto\"]");
}

// B30: rates that count local rows are never the headline, and never without their name.
TEST(bench_record, b30_rates_with_local_rows_come_on_request_and_by_name) {
  const auto without = to_json(sample_point(400'000), sample_link(), {});
  EXPECT_FALSE(without["round_trip"].contains("logical_bw_gb_s"));
  EXPECT_EQ(without["dispatch"]["local_bytes"], 100);
  EXPECT_EQ(bench_table({sample_point(400'000)}, sample_link(), {}).find("logical"), std::string::npos);
  const auto with = to_json(sample_point(400'000), sample_link(), {.logical = true, .selection = true});
  EXPECT_DOUBLE_EQ(with["round_trip"]["logical_bw_gb_s"], 800.2 / 12);
  EXPECT_DOUBLE_EQ(with["round_trip"]["selection_bw_gb_s"], 1600.0 / 12);
  EXPECT_NE(bench_table({sample_point(400'000)}, sample_link(), {.logical = true}).find("logical GB/s"),
            std::string::npos);
}

TEST(bench_record, marks_and_link_counters_stand_in_the_record) {
  const auto json = to_json(sample_full_point(400'000), sample_link(), {});
  const auto& trip = json["round_trip"];
  EXPECT_EQ(trip["marked_launches"][0]["launch"], 2);
  EXPECT_EQ(trip["link_tx_bytes_per_step_of_ranks"].dump(), "[1024.0,null]");
  EXPECT_EQ(trip["states_after"][0]["sm_clock_mhz"], 1980);
  EXPECT_TRUE(trip["states_after"][1]["sm_clock_mhz"].is_null());
  EXPECT_EQ(json["dispatch"]["skew_us"]["raw_us"].size(), 3U);
  EXPECT_EQ(json["clock_error_us"], 0.75);
}

}  // namespace
}  // namespace switchyard::harness
