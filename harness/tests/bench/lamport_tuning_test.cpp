// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/lamport_tuning.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "sample_trips.hpp"

namespace switchyard::harness {
namespace {

using points_list = std::vector<transport_comparison>;
using token_list = std::vector<std::int64_t>;

TEST(lamport_tuning, one_crossing_is_the_threshold) {
  const points_list points{sample_comparison(1, 14, 6, 0.1), sample_comparison(64, 18, 13, 0.1),
                           sample_comparison(128, 22, 21, 0.1), sample_comparison(256, 32, 40, 0.1)};
  const auto found = decide_threshold(points);
  EXPECT_TRUE(found.measured);
  EXPECT_EQ(found.max_tokens, 128);
  EXPECT_EQ(found.as_good_up_to, 128);
  EXPECT_FALSE(found.open_ended);
  EXPECT_TRUE(found.too_slow_at.empty());
  EXPECT_EQ(tokens_around(points, found, 3), (token_list{160, 192, 224}));
  const auto text = tuning_text(points, found);
  EXPECT_EQ(text.rfind("set one_sided_config::lamport_max_tokens = 128 (the default is ", 0), 0U) << text;
  EXPECT_NE(text.find("because:\n  128 tokens: lamport 21.00 us"), std::string::npos) << text;
  EXPECT_NE(text.find("  256 tokens: lamport 40.00 us"), std::string::npos) << text;
}

TEST(lamport_tuning, a_difference_within_the_noise_is_worth_no_memory) {
  const points_list points{sample_comparison(16, 15, 9, 0.2), sample_comparison(32, 16, 15.9, 0.2),
                           sample_comparison(64, 17, 17.1, 0.2), sample_comparison(128, 21, 30, 0.2)};
  const auto found = decide_threshold(points);
  EXPECT_EQ(found.max_tokens, 16);
  EXPECT_EQ(found.as_good_up_to, 64);
  EXPECT_EQ(tokens_around(points, found, 3), (token_list{44, 72, 100}));
  EXPECT_NE(tuning_text(points, found).find("up to 64 would do as well within the noise"), std::string::npos);
}

TEST(lamport_tuning, lamport_never_faster_is_off) {
  const points_list points{sample_comparison(1, 14, 15, 0.1), sample_comparison(2, 14, 16, 0.1)};
  const auto found = decide_threshold(points);
  EXPECT_TRUE(found.measured);
  EXPECT_EQ(found.max_tokens, 0);
  EXPECT_EQ(found.as_good_up_to, 0);
  EXPECT_FALSE(found.open_ended);
  EXPECT_TRUE(tokens_around(points, found, 3).empty()) << "no whole number lies below 1";
  EXPECT_EQ(tuning_text(points, found).rfind("set one_sided_config::lamport = choice::off", 0), 0U);
  EXPECT_EQ(to_json(points, found)["lamport"], "off");
  EXPECT_TRUE(to_json(points, found)["lamport_max_tokens"].is_null());
}

TEST(lamport_tuning, lamport_always_faster_is_open_ended) {
  const points_list points{sample_comparison(1, 14, 6, 0.1), sample_comparison(2, 14, 7, 0.1)};
  const auto found = decide_threshold(points);
  EXPECT_EQ(found.max_tokens, 2);
  EXPECT_TRUE(found.open_ended);
  EXPECT_TRUE(tokens_around(points, found, 3).empty());
  EXPECT_NE(tuning_text(points, found).find("nothing above 2 tokens was measured"), std::string::npos);
}

TEST(lamport_tuning, nothing_measured_decides_nothing) {
  const auto found = decide_threshold({});
  EXPECT_FALSE(found.measured);
  EXPECT_TRUE(tokens_around({}, found, 3).empty());
  EXPECT_EQ(tuning_text({}, found), "nothing to set: no point has been measured both by fence and by lamport\n");
  EXPECT_TRUE(to_json({}, found)["lamport"].is_null());
}

TEST(lamport_tuning, crossing_twice_takes_the_lesser_evil_and_says_so) {
  // Fence is ahead at 4 by 1 us, lamport at 8 by 6: going by lamport up to 8 loses less.
  const points_list points{sample_comparison(1, 14, 6, 0.1), sample_comparison(4, 14, 15, 0.1),
                           sample_comparison(8, 20, 14, 0.1), sample_comparison(16, 20, 25, 0.1)};
  const auto found = decide_threshold(points);
  EXPECT_EQ(found.max_tokens, 8);
  EXPECT_EQ(found.too_slow_at, token_list{4});
  EXPECT_NE(tuning_text(points, found).find("no threshold is right everywhere: with this one, steps of 4 tokens"),
            std::string::npos);
  EXPECT_EQ(to_json(points, found)["too_slow_at_tokens"].dump(), "[4]");
}

TEST(lamport_tuning, a_second_crossing_within_the_tolerance_is_no_evil) {
  // At 4, fence is ahead by more than the noise but by less than 5 %.
  const points_list points{sample_comparison(1, 14, 6, 0.1), sample_comparison(4, 14, 14.5, 0.1),
                           sample_comparison(8, 20, 14, 0.1), sample_comparison(16, 20, 25, 0.1)};
  const auto found = decide_threshold(points);
  EXPECT_EQ(found.max_tokens, 8);
  EXPECT_TRUE(found.too_slow_at.empty());
}

TEST(lamport_tuning, one_wild_point_does_not_move_the_threshold) {
  // Lamport looks faster at 512 in a run so noisy there that it says nothing.
  const points_list points{sample_comparison(64, 18, 13, 0.1), sample_comparison(128, 22, 26, 0.1),
                           sample_comparison(256, 32, 45, 0.1), sample_comparison(512, 54, 50, 8)};
  const auto found = decide_threshold(points);
  EXPECT_EQ(found.max_tokens, 64);
  EXPECT_TRUE(found.too_slow_at.empty());
}

TEST(lamport_tuning, without_known_noise_medians_decide) {
  const auto known = [](std::int64_t tokens, double fence_us, double lamport_us) {
    transport_comparison point;
    point.tokens = tokens;
    point.fence.median_us = fence_us;
    point.lamport.median_us = lamport_us;
    return point;
  };
  EXPECT_EQ(decide_threshold(points_list{known(1, 10, 5), known(2, 10, 9.99), known(4, 10, 10.01)}).max_tokens, 2);
}

// Lines that cross once, at 90 tokens, seen through noise: the threshold stays next to the crossing, and the points
// around it draw together.
TEST(lamport_tuning, noisy_lines_are_narrowed_down_to_their_crossing) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> jitter(0, 0.05);
    std::vector<trip_samples> trips;
    const auto measure = [&](std::int64_t tokens) {
      for (const auto by : {bench_transport::fence, bench_transport::lamport}) {
        trip_samples one{tokens, by, {}};
        const auto slope = by == bench_transport::fence ? 0.07 : 0.17;
        const auto first = by == bench_transport::fence ? 14.0 : 5.0;
        for (int i = 0; i < 30; ++i) one.us.push_back(first + slope * static_cast<double>(tokens) + jitter(random));
        trips.push_back(one);
      }
    };
    for (std::int64_t tokens = 1; tokens <= 1024; tokens *= 2) measure(tokens);
    for (int round = 0; round < 2; ++round) {
      const auto points = compare_transports(trips);
      for (const auto tokens : tokens_around(points, decide_threshold(points), 3)) measure(tokens);
    }
    const auto found = decide_threshold(compare_transports(trips));
    EXPECT_GE(found.as_good_up_to, 84) << "seed " << seed;
    EXPECT_LE(found.max_tokens, 92) << "seed " << seed;
    EXPECT_GE(found.max_tokens, 80) << "seed " << seed;
    EXPECT_TRUE(found.too_slow_at.empty()) << "seed " << seed;
  }
}

TEST(lamport_tuning, counts_around_are_new_and_whole) {
  const points_list points{sample_comparison(1, 14, 6, 0.1), sample_comparison(2, 14, 7, 0.1),
                           sample_comparison(4, 14, 20, 0.1)};
  EXPECT_EQ(tokens_around(points, decide_threshold(points), 3), token_list{3});
  const points_list adjacent{sample_comparison(3, 14, 6, 0.1), sample_comparison(4, 14, 20, 0.1)};
  EXPECT_TRUE(tokens_around(adjacent, decide_threshold(adjacent), 3).empty());
}

TEST(lamport_tuning, the_table_says_which_is_faster) {
  const points_list points{sample_comparison(1, 14, 6, 0.1), sample_comparison(2, 14, 14, 0.1)};
  EXPECT_NE(
      comparison_table(points).find("| 1 | 14.00 | 13.90 | 14.10 | 6.00 | 5.95 | 6.05 | -8.00 | 0.10 | lamport |\n"),
      std::string::npos)
      << comparison_table(points);
  EXPECT_NE(comparison_table(points).find(" | +0.00 | 0.10 | not decided |\n"), std::string::npos);
}

}  // namespace
}  // namespace switchyard::harness
