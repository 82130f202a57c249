// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_crossover.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"
#include "sample_trips.hpp"

namespace switchyard::harness {
namespace {

constexpr auto fence = bench_transport::fence;
constexpr auto lamport = bench_transport::lamport;
constexpr auto automatic = bench_transport::automatic;

crossover found_in(const std::vector<std::pair<double, double>>& fence_and_lamport_us) {
  std::vector<transport_comparison> points;
  std::int64_t tokens = 1;
  for (const auto& [by_fence, by_lamport] : fence_and_lamport_us) {
    points.push_back(sample_comparison(tokens, by_fence, by_lamport, 0.1));
    tokens *= 2;
  }
  return crossover_of(points);
}

TEST(bench_crossover, is_the_most_tokens_at_which_lamport_is_at_most_fence) {
  const auto found = found_in({{10, 5}, {10, 7}, {10, 10}, {10, 11}, {10, 20}});
  EXPECT_EQ(found.kind, crossover_kind::within);
  EXPECT_EQ(found.points.at(found.last).tokens, 4);
  EXPECT_TRUE(found.fence_faster_below().empty());
  const auto text = crossover_text(found);
  EXPECT_EQ(
      text.rfind("crossover: 4 tokens: the most at which lamport is at most fence\n  4 tokens: lamport 10.00 us (p10 "
                 "9.95, p90 10.05), fence 10.00 us (p10 9.90, p90 10.10); lamport 0.00 us less, noise 0.10 us: "
                 "not decided\n  8 tokens: lamport 11.00 us ",
                 0),
      0U)
      << text;
  EXPECT_NE(text.find("lamport 1.00 us more, noise 0.10 us: decided\n"), std::string::npos) << text;
  EXPECT_EQ(to_json(found)["next_tokens"], 8);
}

TEST(bench_crossover, none_and_beyond_the_last_point_are_said) {
  const auto none = found_in({{10, 10.5}, {10, 12}});
  EXPECT_EQ(none.kind, crossover_kind::none);
  EXPECT_EQ(
      crossover_text(none).rfind("crossover: none: lamport is slower than fence at every point\n  by the least at 1 "
                                 "token: ",
                                 0),
      0U)
      << crossover_text(none);
  EXPECT_TRUE(to_json(none)["tokens"].is_null());
  const auto beyond = found_in({{10, 5}, {10, 6}});
  EXPECT_EQ(beyond.kind, crossover_kind::beyond);
  EXPECT_EQ(crossover_text(beyond).rfind("crossover: beyond the last point: lamport is at most fence at 2 tokens\n", 0),
            0U);
  EXPECT_EQ(to_json(beyond)["tokens"], 2);
  EXPECT_TRUE(to_json(beyond)["next_tokens"].is_null());
  const auto unknown = found_in({});
  EXPECT_EQ(unknown.kind, crossover_kind::unmeasured);
  EXPECT_EQ(crossover_text(unknown).rfind("crossover: unknown", 0), 0U);
}

TEST(bench_crossover, more_than_one_crossing_is_said) {
  const auto found = found_in({{10, 11}, {10, 9}, {10, 12}, {10, 9}, {10, 12}});
  EXPECT_EQ(found.points.at(found.last).tokens, 8);
  EXPECT_EQ(found.fence_faster_below(), (std::vector<std::int64_t>{1, 4}));
  EXPECT_NE(crossover_text(found).find("not the only crossing: below it, fence is faster at 1, 4\n"),
            std::string::npos);
}

TEST(bench_crossover, noise_is_the_most_of_ranges_and_shifts_of_both) {
  // A (places 0, 3, 4, 7 ...) is 0.5 above B, far more than p10 .. p90 of the other transport.
  trip_samples shifted{16, lamport, {}};
  for (int i = 0; i < 32; ++i) shifted.us.push_back(i % 4 == 0 || i % 4 == 3 ? 10.5 : 10.0);
  const auto points = compare_transports(std::vector{sample_trips(16, fence, 11, 0.2), shifted});
  ASSERT_EQ(points.size(), 1U);
  EXPECT_DOUBLE_EQ(points[0].lamport.aa_shift_us.value(), 0.5);
  EXPECT_DOUBLE_EQ(points[0].noise_us.value(), 0.5);
  EXPECT_TRUE(points[0].decided());
  EXPECT_NEAR(sample_comparison(16, 11, 10, 0.2).noise_us.value(), 0.2, 1e-9);
}

TEST(bench_crossover, few_samples_decide_nothing) {
  const auto points =
      compare_transports(std::vector{trip_samples{4, fence, {10, 11}}, trip_samples{4, lamport, {1, 2, 3}}});
  ASSERT_EQ(points.size(), 1U);
  EXPECT_FALSE(points[0].noise_us);
  EXPECT_FALSE(points[0].decided());
  EXPECT_NE(comparison_text(points[0]).find("noise not known: too few samples"), std::string::npos);
  EXPECT_TRUE(to_json(points[0])["noise_us"].is_null());
}

TEST(bench_crossover, a_step_that_could_not_go_by_lamport_is_no_lamport_step) {
  auto by_fence = sample_point(0);
  by_fence.asked = fence;
  auto by_lamport = sample_point(0);
  by_lamport.asked = lamport;
  by_lamport.taken = transport::lamport;
  EXPECT_EQ(trips_of(std::vector{by_fence, by_lamport}).size(), 2U);
  EXPECT_EQ(trips_of(std::vector{by_fence, by_lamport}).back().us, (std::vector<double>{13, 12, 11}));
  by_lamport.taken = transport::fence;
  EXPECT_EQ(trips_of(std::vector{by_fence, by_lamport}).size(), 1U);
  const repeated_point repeated{16, lamport, transport::fence, {10}, {4}, {5}};
  EXPECT_TRUE(trips_of(std::vector{repeated}).empty());
}

std::vector<trip_samples> all_three(double by_fence_us, double by_lamport_us, double by_auto_us, double noise_us) {
  return {sample_trips(16, fence, by_fence_us, noise_us), sample_trips(16, lamport, by_lamport_us, noise_us),
          sample_trips(16, automatic, by_auto_us, noise_us)};
}

TEST(bench_crossover, auto_may_be_slower_by_the_tolerance_and_no_more) {
  EXPECT_TRUE(check_auto(all_three(12, 20, 12.59, 0)).at(0).within());  // 5 %
  EXPECT_FALSE(check_auto(all_three(12, 20, 12.61, 0)).at(0).within());
  EXPECT_TRUE(check_auto(all_three(20, 4, 4.29, 0)).at(0).within());  // 0.3 us
  EXPECT_FALSE(check_auto(all_three(20, 4, 4.31, 0)).at(0).within());
  EXPECT_TRUE(check_auto(all_three(20, 4, 3, 0)).at(0).within());
  // p10 .. p90 is no excuse, a shift between halves of the same run is.
  EXPECT_FALSE(check_auto(all_three(20, 4, 4.31, 2)).at(0).within());
  auto noisy = all_three(20, 4, 4.31, 0);
  for (std::size_t i = 0; i < noisy[2].us.size(); ++i) noisy[2].us[i] += i % 4 == 0 || i % 4 == 3 ? 0.5 : -0.5;
  EXPECT_NEAR(check_auto(noisy).at(0).allowed_us, 5, 1e-9);
  EXPECT_TRUE(check_auto(noisy).at(0).within());
}

TEST(bench_crossover, points_where_auto_is_slow_are_listed) {
  auto trips = all_three(12, 20, 15, 0);
  for (auto trip : all_three(12, 20, 12, 0)) {
    trip.tokens = 32;
    trips.push_back(trip);
  }
  const auto verdicts = check_auto(trips);
  EXPECT_EQ(
      auto_check_text(verdicts),
      "auto: slower than the better of fence and lamport by more than max(5 %, 0.3 us, A/A noise) at 1 of 2 points\n"
      "  16 tokens: auto 15.00 us, fence 12.00 us, allowed 12.60 us\n");
  EXPECT_EQ(auto_check_text(std::span(verdicts).subspan(1)),
            "auto: within max(5 %, 0.3 us, A/A noise) of the better of fence and lamport at all of 1 point\n");
  EXPECT_EQ(auto_check_json(verdicts)["within"], false);
  EXPECT_TRUE(auto_check_json({})["within"].is_null());
  trips.erase(trips.begin());
  EXPECT_EQ(check_auto(trips).size(), 1U) << "a point without fence cannot be judged";
  EXPECT_EQ(auto_check_text({}), "auto: not checked: no point has been measured by fence, lamport and auto\n");
}

}  // namespace
}  // namespace switchyard::harness
