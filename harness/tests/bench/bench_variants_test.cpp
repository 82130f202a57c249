// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_variants.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sample_bench.hpp"

namespace switchyard::harness {
namespace {

TEST(bench_variants, ways_are_each_transport_as_usual_and_then_its_variants) {
  bench_options options;
  options.transports = {bench_transport::fence, bench_transport::lamport};
  EXPECT_EQ(ways_of(options), (std::vector<bench_way>{{bench_transport::fence, bench_variant::usual},
                                                      {bench_transport::lamport, bench_variant::usual}}));
  options.variants = {bench_variant::masked};
  EXPECT_EQ(ways_of(options), (std::vector<bench_way>{{bench_transport::fence, bench_variant::usual},
                                                      {bench_transport::fence, bench_variant::masked},
                                                      {bench_transport::lamport, bench_variant::usual},
                                                      {bench_transport::lamport, bench_variant::masked}}));
}

TEST(bench_variants, names_are_those_of_the_option) {
  for (const auto which : all_bench_variants) EXPECT_EQ(bench_variant_of(to_string(which)), which);
  EXPECT_FALSE(bench_variant_of("odd"));
}

TEST(bench_variants, a_difference_is_held_against_the_noise_and_a_tenth_of_a_microsecond) {
  const auto usual = sample_varied_point(bench_variant::usual, 0);
  for (const auto& [more_us, equal] :
       {std::pair{0.0, true}, {0.09, true}, {-0.09, true}, {0.2, false}, {-0.2, false}}) {
    const auto found = compare_variants(std::vector{usual, sample_varied_point(bench_variant::unchecked, more_us)});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NEAR(found[0].difference_us(), more_us, 1e-9) << "of doubles that are no sums of powers of two";
    EXPECT_EQ(found[0].allowed_us(), 0.1) << "halves dealt A B B A are alike";
    EXPECT_EQ(found[0].equal(), equal) << more_us;
  }
}

TEST(bench_variants, noise_of_either_side_widens_what_is_allowed) {
  const auto usual = sample_varied_point(bench_variant::usual, 0);
  auto noisy = sample_varied_point(bench_variant::masked, 0.3);
  auto& launches = noisy.round_trip_us.front();
  for (std::size_t i = 0; i < launches.size(); ++i) launches[i] = i % 4 == 0 || i % 4 == 3 ? 10 : 10.6;  // A B B A
  const auto found = compare_variants(std::vector{usual, noisy});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found[0].allowed_us().value(), 0.5);
  EXPECT_EQ(found[0].equal(), true);
}

TEST(bench_variants, are_compared_with_the_usual_of_their_own_point_and_transport) {
  auto usual = sample_varied_point(bench_variant::usual, 0);
  auto of_fence = sample_varied_point(bench_variant::unchecked, 1);
  of_fence.asked = bench_transport::fence;
  auto of_more_tokens = sample_varied_point(bench_variant::unchecked, 1);
  of_more_tokens.tokens = 32;
  EXPECT_TRUE(compare_variants(std::vector{usual, of_fence, of_more_tokens}).empty());
  usual.asked = bench_transport::fence;
  const auto found = compare_variants(std::vector{of_fence, of_more_tokens, usual});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].way, (bench_way{bench_transport::fence, bench_variant::unchecked}));
}

TEST(bench_variants, of_too_few_launches_nothing_is_claimed) {
  auto few = sample_varied_point(bench_variant::masked, 0);
  few.round_trip_us.front().resize(3);
  const auto found = compare_variants(std::vector{sample_varied_point(bench_variant::usual, 0), few});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].equal());
  EXPECT_TRUE(to_json(found[0])["within"].is_null());
  EXPECT_NE(variants_text(found).find("noise not known: too few samples\n"), std::string::npos);
}

TEST(bench_variants, text_and_record_say_all_of_it) {
  const auto found = compare_variants(
      std::vector{sample_varied_point(bench_variant::usual, 0), sample_varied_point(bench_variant::unchecked, -0.25)});
  EXPECT_EQ(variants_text(found),
            "unchecked, auto, 16 tokens: 9.85 us, usual 10.10 us; 0.25 us less, allowed max(A/A noise, 0.1 us) = 0.10 "
            "us: not equal\n");
  const auto json = to_json(found.at(0));
  EXPECT_EQ(json["record"], "bench_variant");
  EXPECT_EQ(json["variant"], "unchecked");
  EXPECT_EQ(json["difference_us"], -0.25);
  EXPECT_EQ(json["within"], false);
  EXPECT_EQ(json["usual_raw_us"].size(), 8U);
}

}  // namespace
}  // namespace switchyard::harness
