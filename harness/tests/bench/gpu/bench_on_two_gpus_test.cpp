// SPDX-License-Identifier: Apache-2.0
// The bench on real GPUs: what it counts and what it must not see.
#include <algorithm>
#include <array>
#include <utility>

#include "needs_two_gpus.hpp"
#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/bench_variants.hpp"

namespace switchyard::harness {
namespace {

class kept_points final : public bench_observer {
 public:
  void note(const std::string&) override {}
  void machine(const bench_machine& where) override { machine_ = where; }
  void link(const link_yardstick& measured) override { link_ = measured; }
  void point(const bench_point& measured) override { points_.push_back(measured); }
  std::vector<std::int64_t> further_tokens() override { return std::exchange(further_, {}); }

  bench_machine machine_;
  link_yardstick link_;
  std::vector<bench_point> points_;
  std::vector<std::int64_t> further_;
};

using bench_on_two_gpus = needs_two_gpus;

kept_points run_with(bench_options options) {
  kept_points kept;
  run_bench(options, kept);
  return kept;
}

TEST_F(bench_on_two_gpus, b30_bytes_follow_the_routing_and_no_rate_passes_the_link) {
  auto options = small_bench({4096});
  options.launches = 3;
  const auto rows = 4096ULL * 7168 * 2;
  options.routing = routing_law::local;
  const auto local = run_with(options);
  EXPECT_EQ(local.points_.at(0).dispatch.bytes.remote_bytes, 0U);
  EXPECT_EQ(local.points_.at(0).dispatch.bytes.local_bytes, rows);
  EXPECT_FALSE(figures_of(local.points_.at(0), local.link_).wire_bw_gb_s);
  options.routing = routing_law::remote;
  const auto remote = run_with(options);
  EXPECT_EQ(remote.points_.at(0).dispatch.bytes.remote_bytes, rows);
  EXPECT_EQ(remote.points_.at(0).dispatch.bytes.local_bytes, 0U);
  EXPECT_LT(figures_of(remote.points_.at(0), remote.link_).of_link.value(), 1.0);
  // The counters of the links see those rows, both phases, and headers; nothing of the kind when all is local.
  const auto& point = remote.points_.at(0);
  const auto counted = link_bytes_per_step(point.before.at(0), point.after.at(0), point.steps_between);
  if (counted) {
    EXPECT_GT(*counted, 1.9 * static_cast<double>(rows));
    EXPECT_LT(*counted, 2.2 * static_cast<double>(rows));
  }
}

// B32: jitter of one rank's host was charged to the kernel.
TEST_F(bench_on_two_gpus, b32_a_late_host_does_not_move_the_times) {
  const auto quiet = run_with(small_bench({1, 8, 32, 128}));
  auto options = small_bench({1, 8, 32, 128});
  options.host_jitter_us = 100;
  const auto late = run_with(options);
  ASSERT_EQ(quiet.points_.size(), late.points_.size());
  for (std::size_t i = 0; i < quiet.points_.size(); ++i) {
    const auto before = figures_of(quiet.points_[i], quiet.link_);
    const auto after = figures_of(late.points_[i], late.link_);
    const auto bound = [](double time_us) { return std::max(0.05 * time_us, 0.3); };  // the stated noise
    const auto tokens = quiet.points_[i].tokens;
    EXPECT_NEAR(before.round_trip_us, after.round_trip_us, bound(before.round_trip_us)) << tokens;
    EXPECT_NEAR(before.dispatch_us, after.dispatch_us, bound(before.dispatch_us)) << tokens;
    EXPECT_NEAR(before.combine_us, after.combine_us, bound(before.combine_us)) << tokens;
    EXPECT_TRUE(late.points_[i].clock_error_us) << tokens;
    EXPECT_FALSE(late.points_[i].dispatch.spans.skew_us.empty()) << tokens;
  }
  EXPECT_FALSE(quiet.machine_.cpus_allowed.empty());
}

// Launches of three instances take turns on one group; each point's bytes and sums are checked by every one of them.
TEST_F(bench_on_two_gpus, transports_take_turns_and_are_named) {
  auto options = small_bench({4, 32});
  options.transports = {bench_transport::fence, bench_transport::lamport, bench_transport::automatic};
  options.lamport_max_tokens = 16;
  kept_points kept;
  run_bench(options, kept);
  ASSERT_EQ(kept.points_.size(), 6U);
  constexpr std::array taken{transport::fence, transport::lamport, transport::lamport,
                             transport::fence, transport::lamport, transport::fence};
  for (std::size_t i = 0; i < kept.points_.size(); ++i) {
    const auto& point = kept.points_[i];
    EXPECT_EQ(point.tokens, i < 3 ? 4 : 32) << i;
    EXPECT_EQ(point.asked, options.transports[i % 3]) << i;
    EXPECT_EQ(point.taken, taken.at(i)) << i;
    EXPECT_FALSE(point.taken_because.empty()) << i;
    EXPECT_GT(point.checked_rows, 0U) << i;
    ASSERT_EQ(point.round_trip_us.size(), 2U) << i;
    EXPECT_EQ(point.round_trip_us[0].size(), 10U) << i;
    EXPECT_EQ(point.cold_us.at(1).size(), 10U) << i;
    EXPECT_GT(figures_of(point, kept.link_).round_trip_us, 1.0) << i;
  }
}

// As above, of workspaces with other kernels: what they leave is checked as well.
TEST_F(bench_on_two_gpus, variants_take_turns_with_the_usual_and_have_the_headline_alone) {
  auto options = small_bench({4, 32});
  options.transports = {bench_transport::fence, bench_transport::lamport};
  options.variants = {bench_variant::unchecked, bench_variant::masked};
  kept_points kept;
  run_bench(options, kept);
  const auto ways = ways_of(options);
  ASSERT_EQ(kept.points_.size(), 2 * ways.size());
  for (std::size_t i = 0; i < kept.points_.size(); ++i) {
    const auto& point = kept.points_[i];
    EXPECT_EQ((bench_way{point.asked, point.variant}), ways[i % ways.size()]) << i;
    EXPECT_GT(point.checked_rows, 0U) << i;
    EXPECT_EQ(point.round_trip_us.at(1).size(), 10U) << i;
    EXPECT_EQ(point.cold_us.empty(), point.variant != bench_variant::usual) << i;
  }
  EXPECT_EQ(compare_variants(kept.points_).size(), 8U);
}

// Each shape has a group of its own, checked by the golden model; what dispatch sends follows from its format.
TEST_F(bench_on_two_gpus, shapes_take_turns_and_bytes_follow_the_format) {
  auto options = small_bench({4, 64});
  options.routing = routing_law::remote;
  const auto bf16 = shape_of(options.params, low_precision::none);
  auto mxfp8 = bf16;
  mxfp8.dispatch_format = dispatch_format::mxfp8;
  mxfp8.low_precision_combine = low_precision::fp8;
  auto nvfp4 = bf16;
  nvfp4.dispatch_format = dispatch_format::nvfp4;
  nvfp4.low_precision_combine = low_precision::fp8_block_scaled;
  nvfp4.hidden_size = 2880;
  nvfp4.top_k = 4;
  options.shapes = {bf16, mxfp8, nvfp4};
  kept_points kept;
  run_bench(options, kept);
  ASSERT_EQ(kept.points_.size(), 6U);
  constexpr std::array<std::uint64_t, 3> dispatched{7168 * 2, 7168 + 224, 1440 + 180};
  constexpr std::array<std::uint64_t, 3> combined{7168 * 2, 7168, 2880 + 4 * 23};
  for (std::size_t i = 0; i < kept.points_.size(); ++i) {
    const auto& point = kept.points_[i];
    EXPECT_EQ(point.shape, options.shapes[i / 2]) << i;
    EXPECT_EQ(point.tokens, i % 2 == 0 ? 4 : 64) << i;
    EXPECT_EQ(point.dispatch.bytes.remote_bytes, dispatched.at(i / 2) * static_cast<std::uint64_t>(point.tokens)) << i;
    EXPECT_EQ(point.combine.bytes.remote_bytes, combined.at(i / 2) * static_cast<std::uint64_t>(point.tokens)) << i;
    EXPECT_GT(point.checked_rows, 0U) << i;
    EXPECT_GT(figures_of(point, kept.link_).round_trip_us, 1.0) << i;
  }
}

TEST_F(bench_on_two_gpus, further_points_are_measured_when_asked_for_and_the_headline_alone) {
  auto options = small_bench({8, 64});
  options.transports = {bench_transport::fence, bench_transport::lamport};
  options.columns = bench_columns::round_trip;
  kept_points kept;
  kept.further_ = {24, 48};
  run_bench(options, kept);
  ASSERT_EQ(kept.points_.size(), 8U);
  EXPECT_EQ(kept.points_[4].tokens, 24);
  EXPECT_EQ(kept.points_[7].tokens, 48);
  for (const auto& point : kept.points_) {
    EXPECT_EQ(point.round_trip_us.at(1).size(), 10U);
    EXPECT_TRUE(point.cold_us.empty());
    EXPECT_TRUE(point.dispatch.spans.kernel_us.empty());
  }
}

}  // namespace
}  // namespace switchyard::harness
