// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_grid.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"

namespace switchyard::harness {
namespace {

/// Four launches of two ranks; the A/A shift is 2 * `spread_us`.
std::vector<std::vector<double>> trips(double us, double spread_us = 0) {
  const std::vector slower{us + spread_us, us - spread_us, us - spread_us, us + spread_us};
  return {slower, std::vector<double>(4, us / 2)};
}

bench_point point_of(double round_trip_us, double spread_us = 0) {
  auto point = sample_point(400'000);
  point.round_trip_us = trips(round_trip_us, spread_us);
  return point;
}

nccl_measurement nccl_of(nccl_scheme scheme, double us, double spread_us = 0) {
  return {16, scheme, {nccl_memory::plain, 1}, {}, trips(us / 2), trips(us, spread_us), sample_shape()};
}

std::vector<yardstick_verdict> verdicts_of(const bench_point& point, const nccl_measurement& theirs) {
  const std::vector points{point};
  return summarise_grid(points, points, std::vector{theirs}).yardsticks;
}

TEST(bench_grid, slower_is_what_exceeds_the_tolerance_alone) {
  const auto all_gather = nccl_scheme::all_gather;
  struct {
    double ours_us, theirs_us, our_spread_us, their_spread_us, allowed_us;
    bool slower;
  } constexpr cases[] = {
      {21.0, 20, 0, 0, 21, false},  // 5 %
      {21.1, 20, 0, 0, 21, true},   //
      {4.3, 4, 0, 0, 4.3, false},   // 0.3 us is more than that
      {4.4, 4, 0, 0, 4.3, true},    //
      {21.9, 20, 1, 0, 22, false},  // our launches differ by 2 us
      {22.1, 20, 0, 1, 22, true},   // theirs do
      {10.0, 20, 0, 0, 21, false},
  };
  for (const auto& one : cases) {
    const auto found =
        verdicts_of(point_of(one.ours_us, one.our_spread_us), nccl_of(all_gather, one.theirs_us, one.their_spread_us));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NEAR(found[0].allowed_us, one.allowed_us, 1e-9) << one.ours_us;
    EXPECT_EQ(found[0].slower(), one.slower) << one.ours_us << ' ' << one.theirs_us;
  }
}

TEST(bench_grid, names_the_points_that_are_slower) {
  auto fast = point_of(10);
  fast.shape = sample_grid_shape();
  auto of_fast = nccl_of(nccl_scheme::all_gather, 20);
  of_fast.shape = fast.shape;
  const std::vector points{point_of(30), fast};
  const auto summary = summarise_grid(
      points, points,
      std::vector{nccl_of(nccl_scheme::all_gather, 20), nccl_of(nccl_scheme::send_receive, 40), of_fast});
  EXPECT_EQ(grid_text(summary),
            "yardsticks: slower beyond max(5 %, 0.3 us, A/A noise) in 1 of 3 round trips\n"
            "  hidden 7168, top-8 of 256, bf16, 16 tokens: auto 30.00 us, all_gather 20.00 us, allowed 21.00 us\n");
  const auto json = to_json(summary);
  EXPECT_EQ(json["compared_round_trips"], 3);
  ASSERT_EQ(json["slower"].size(), 1U);
  EXPECT_EQ(json["slower"][0]["shape"], to_json(sample_shape()));
  EXPECT_EQ(json["slower"][0]["ours_us"], 30.0);
}

TEST(bench_grid, says_so_where_nothing_is_slower_and_nothing_where_nothing_was_compared) {
  const std::vector points{point_of(10)};
  EXPECT_EQ(grid_text(summarise_grid(points, points, std::vector{nccl_of(nccl_scheme::all_gather, 20)})),
            "yardsticks: not slower beyond max(5 %, 0.3 us, A/A noise) in all of 1 round trip\n");
  const auto wrong = sample_failed_nccl(nccl_memory::plain);
  EXPECT_TRUE(summarise_grid(points, points, std::vector{wrong}).empty());
  EXPECT_EQ(grid_text({}), "");
}

/// `format`'s dispatch takes `us` for so many bytes.
bench_point of_format(std::optional<dispatch_format> format, double us, std::uint64_t bytes) {
  auto point = sample_point(bytes);
  point.shape.dispatch_format = format;
  point.dispatch.spans.kernel_us = {us - 1, us, us + 1};
  return point;
}

TEST(bench_grid, bytes_and_times_of_formats_stand_beside_those_of_bf16) {
  auto elsewhere = of_format(dispatch_format::nvfp4, 3, 4032);
  elsewhere.tokens = 32;  // no bf16 there
  auto other_transport = of_format(dispatch_format::mxfp8, 3, 7392);
  other_transport.asked = bench_transport::fence;
  auto other_shape = of_format(dispatch_format::mxfp8, 3, 7392);
  other_shape.shape.low_precision_combine = low_precision::fp8;
  const std::vector points{of_format(std::nullopt, 8, 14336),
                           of_format(dispatch_format::mxfp8, 5, 7392),
                           of_format(dispatch_format::nvfp4, 4, 4032),
                           elsewhere,
                           other_transport,
                           other_shape};
  const auto summary = summarise_grid({}, points, {});
  ASSERT_EQ(summary.formats.size(), 2U);
  EXPECT_DOUBLE_EQ(summary.formats[0].time_ratio(), 5.0 / 8);
  EXPECT_DOUBLE_EQ(summary.formats[0].byte_ratio.value(), 7392.0 / 14336);
  EXPECT_DOUBLE_EQ(summary.formats[1].time_ratio(), 0.5);
  EXPECT_DOUBLE_EQ(summary.formats[1].byte_ratio.value(), 4032.0 / 14336);
  EXPECT_NE(grid_text(summary).find("| hidden 7168, top-8 of 256, mxfp8 | 16 | auto | 5.00 | 8.00 | 0.625 | 0.516 |\n"),
            std::string::npos)
      << grid_text(summary);
}

TEST(bench_grid, bf16_may_be_a_format_or_the_dtype_and_no_bytes_have_no_ratio) {
  const std::vector named{of_format(dispatch_format::bf16, 8, 0), of_format(dispatch_format::fp8, 8, 0)};
  const auto summary = summarise_grid({}, named, {});
  ASSERT_EQ(summary.formats.size(), 1U);
  EXPECT_FALSE(summary.formats[0].byte_ratio);
  EXPECT_TRUE(to_json(summary)["formats"][0]["byte_ratio"].is_null());
  auto fp16 = named;
  for (auto& point : fp16) point.shape.dtype = dtype::fp16;
  fp16[0].shape.dispatch_format.reset();
  EXPECT_TRUE(summarise_grid({}, fp16, {}).formats.empty()) << "rows of the dtype are fp16 here";
}

}  // namespace
}  // namespace switchyard::harness
