// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_repeat.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_repeat, processes_are_dealt_so_that_drift_falls_on_both_sides) {
  const auto noise = noise_of(std::vector<double>{10, 11, 12, 13, 14, 15, 16, 17});
  EXPECT_DOUBLE_EQ(noise.median_us, 13.5);
  EXPECT_DOUBLE_EQ(noise.spread_us, 7);
  EXPECT_DOUBLE_EQ(noise.aa_shift_us.value(), 0);  // A: 10 13 14 17, B: 11 12 15 16
  EXPECT_DOUBLE_EQ(noise_of(std::vector<double>{10, 12, 12, 10}).aa_shift_us.value(), 2);
}

TEST(bench_repeat, few_processes_have_no_shift) {
  const auto noise = noise_of(std::vector<double>{10, 12, 11});
  EXPECT_DOUBLE_EQ(noise.median_us, 11);
  EXPECT_DOUBLE_EQ(noise.spread_us, 2);
  EXPECT_FALSE(noise.aa_shift_us);
}

TEST(bench_repeat, points_of_every_process_are_kept_and_other_lines_passed_by) {
  const auto line = to_json(sample_point(400'000), sample_link(), {}).dump();
  std::vector<std::string> notes;
  const auto points = collect_repeats({"/bin/sh", "-c", "echo '| table |'; echo '" + line + "'; echo '{}'; echo 3"}, 3,
                                      std::chrono::seconds(10), [&](const auto& note) { notes.push_back(note); });
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].tokens, 16);
  EXPECT_EQ(points[0].round_trip_us, (std::vector<double>{12, 12, 12}));
  EXPECT_EQ(points[0].dispatch_us, (std::vector<double>{5, 5, 5}));
  EXPECT_EQ(points[0].combine_us, (std::vector<double>{7, 7, 7}));
  EXPECT_EQ(notes.size(), 3U);
  EXPECT_NE(repeat_table(points).find("| 16 | auto: fence | 3 | 12.00 | 0.00 | null |"), std::string::npos)
      << repeat_table(points);
}

TEST(bench_repeat, transports_are_kept_apart) {
  auto lamport = sample_point(400'000);
  lamport.asked = bench_transport::lamport;
  lamport.taken = transport::lamport;
  const auto lines =
      to_json(sample_point(400'000), sample_link(), {}).dump() + '\n' + to_json(lamport, sample_link(), {}).dump();
  const auto points =
      collect_repeats({"/bin/sh", "-c", "echo '" + lines + "'"}, 2, std::chrono::seconds(10), [](const auto&) {});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].asked, bench_transport::lamport);
  EXPECT_EQ(points[0].taken, transport::lamport);
  EXPECT_EQ(points[0].round_trip_us.size(), 2U);
  EXPECT_EQ(points[1].asked, bench_transport::automatic);
  EXPECT_EQ(points[1].taken, transport::fence);
}

TEST(bench_repeat, shapes_are_kept_apart) {
  auto other = sample_point(400'000);
  other.shape = sample_grid_shape();
  const auto lines =
      to_json(sample_point(400'000), sample_link(), {}).dump() + '\n' + to_json(other, sample_link(), {}).dump();
  const auto points =
      collect_repeats({"/bin/sh", "-c", "echo '" + lines + "'"}, 2, std::chrono::seconds(10), [](const auto&) {});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].shape, sample_shape());
  EXPECT_EQ(points[1].shape, sample_grid_shape());
  EXPECT_EQ(points[1].round_trip_us.size(), 2U);
  EXPECT_NE(repeat_table(points).find("\n| hidden 7168, top-8 of 256, mxfp8, combine fp8 | 16 |"), std::string::npos)
      << repeat_table(points);
}

TEST(bench_repeat, a_process_that_fails_counts_for_nothing_and_is_told) {
  const auto line = to_json(sample_point(400'000), sample_link(), {}).dump();
  std::vector<std::string> notes;
  const auto points = collect_repeats({"/bin/sh", "-c", "echo '" + line + "'; exit 2"}, 2, std::chrono::seconds(10),
                                      [&](const auto& note) { notes.push_back(note); });
  EXPECT_TRUE(points.empty());
  ASSERT_EQ(notes.size(), 4U);
  EXPECT_EQ(notes[1], "process 1 ended with exit code 2");
}

}  // namespace
}  // namespace switchyard::harness
