// SPDX-License-Identifier: Apache-2.0
// Each law by itself: who is drawn, how often, and the same every time.
#include "routing_laws.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "small_case.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {
namespace {

using id_row = std::vector<std::int32_t>;

id_row row_of(const expert_drawer& experts, const case_spec& spec, int rank, std::int64_t token) {
  id_row ids(static_cast<std::size_t>(spec.params.top_k), 12345);
  experts.fill(rank, token,
               counter_random(key_of({static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(token)})), ids);
  return ids;
}

expert_drawer drawer(const case_spec& spec, std::uint64_t seed = 1, int step = 0) {
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(spec.ep_size), spec.num_tokens);
  return {spec, seed, step, counts};
}

case_spec law_case(routing_law law, int ep_size = 4) {  // 10 experts: ranks own 3, 3, 2, 2
  auto spec = small_case(ep_size);
  spec.routing = law;
  return spec;
}

int owner(const case_spec& spec, std::int32_t id) {
  return reference::owner_of(id, spec.params.num_experts, spec.ep_size);
}

bool all_distinct_experts(const case_spec& spec, const id_row& ids) {
  const std::set<std::int32_t> set(ids.begin(), ids.end());
  return set.size() == ids.size() && *set.begin() >= 0 && *set.rbegin() < spec.params.num_experts;
}

/// Five standard deviations of `trials` trials with chance p.
double five_sigma(double trials, double p) { return 5 * std::sqrt(trials * p * (1 - p)); }

TEST(routing_laws, every_law_names_distinct_experts_and_repeats_itself) {
  for (const auto law : all_routing_laws) {
    if (law == routing_law::trace || law == routing_law::local) continue;
    auto spec = law_case(law);
    spec.law.expert_groups = 3;  // of 4, 3 and 3
    spec.law.groups_per_token = 2;
    spec.law.hot_percent = 60;
    const auto experts = drawer(spec);
    const auto same = drawer(spec);
    std::set<id_row> rows;
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      for (std::int64_t token = 0; token < spec.num_tokens; ++token) {
        const auto ids = row_of(experts, spec, rank, token);
        EXPECT_TRUE(all_distinct_experts(spec, ids)) << to_string(law) << " token " << token;
        EXPECT_EQ(ids, row_of(same, spec, rank, token)) << to_string(law);
        rows.insert(ids);
      }
    }
    EXPECT_GT(rows.size(), 4U) << to_string(law);
  }
}

TEST(routing_laws, zipf_weights_are_those_of_the_formula) {
  const std::vector<std::uint64_t> flat(5, std::uint64_t{1} << 40);
  EXPECT_EQ(zipf_weights(5, 0), flat);
  const double top = std::ldexp(1.0, 40);
  for (const int percent : {1, 50, 100, 137, 250}) {
    const auto weights = zipf_weights(1000, percent);
    EXPECT_EQ(weights[0], std::uint64_t{1} << 40);
    EXPECT_TRUE(std::is_sorted(weights.rbegin(), weights.rend())) << percent;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double due = top * std::pow(static_cast<double>(i + 1), -percent / 100.0);
      // The header's relative error, and one for the part cut off.
      ASSERT_NEAR(static_cast<double>(weights[i]), due, due * 0x1p-24 + 1) << percent << "% place " << i + 1;
    }
  }
  EXPECT_EQ(zipf_weights(64, 1000).back(), 1U);  // 2^40 / 2^60, but every expert can be drawn
  // Bits worked out in integers are the same everywhere; these came from the formula to 40 places, rounded down.
  const auto harmonic = zipf_weights(8, 100);
  EXPECT_EQ(harmonic[1], std::uint64_t{1} << 39);
  EXPECT_EQ(harmonic[3], std::uint64_t{1} << 38);
  EXPECT_EQ(harmonic[7], std::uint64_t{1} << 37);
}

TEST(routing_laws, zipf_draws_by_weight_among_those_that_are_left) {
  auto spec = law_case(routing_law::zipf, 1);
  spec.params.num_experts = 3;
  spec.params.top_k = 2;
  const auto experts = drawer(spec);
  constexpr int rows = 12000;
  std::map<id_row, int> pairs;
  for (int token = 0; token < rows; ++token) ++pairs[row_of(experts, spec, 0, token)];
  ASSERT_EQ(pairs.size(), 6U);
  // Popularity a > b > c with weights 6 : 3 : 2. First a 6/11, then b 3/5 and c 2/5; first b 3/11, then a 6/8; ...
  std::map<std::int32_t, int> first;
  for (const auto& [pair, count] : pairs) first[pair[0]] += count;
  std::vector<std::int32_t> order{0, 1, 2};
  std::sort(order.begin(), order.end(), [&](auto left, auto right) { return first[left] > first[right]; });
  const std::map<id_row, double> due{
      {{order[0], order[1]}, 6.0 / 11 * 3 / 5}, {{order[0], order[2]}, 6.0 / 11 * 2 / 5},
      {{order[1], order[0]}, 3.0 / 11 * 6 / 8}, {{order[1], order[2]}, 3.0 / 11 * 2 / 8},
      {{order[2], order[0]}, 2.0 / 11 * 6 / 9}, {{order[2], order[1]}, 2.0 / 11 * 3 / 9}};
  for (const auto& [pair, p] : due) EXPECT_NEAR(pairs[pair], rows * p, five_sigma(rows, p)) << pair[0] << pair[1];
}

TEST(routing_laws, zipf_popularity_belongs_to_the_seed_and_extreme_skew_still_ends) {
  auto spec = law_case(routing_law::zipf, 4);
  spec.params.num_experts = 256;
  spec.params.top_k = max_top_k;
  spec.law.zipf_exponent_percent = 1000;
  const auto ids = row_of(drawer(spec), spec, 0, 0);
  EXPECT_TRUE(all_distinct_experts(spec, ids));
  spec.params.top_k = 2;
  const auto hottest = row_of(drawer(spec, 1, 0), spec, 0, 0);  // the hottest has all but a thousandth of the weight
  EXPECT_EQ(row_of(drawer(spec, 1, 7), spec, 0, 0), hottest);
  EXPECT_NE(row_of(drawer(spec, 2, 0), spec, 0, 0)[0], hottest[0]);
}

TEST(routing_laws, hot_rank_takes_as_many_as_it_owns) {
  auto spec = law_case(routing_law::hot_rank);
  for (const int hot : {0, 3}) {
    spec.law.hot_rank = hot;
    const auto experts = drawer(spec);
    std::set<std::size_t> cold_slots;
    for (int token = 0; token < 200; ++token) {
      const auto ids = row_of(experts, spec, 1, token);
      EXPECT_TRUE(all_distinct_experts(spec, ids));
      EXPECT_EQ(std::ranges::count_if(ids, [&](auto id) { return owner(spec, id) == hot; }), hot == 0 ? 3 : 2);
      for (std::size_t k = 0; k < ids.size(); ++k) {
        if (owner(spec, ids[k]) != hot) cold_slots.insert(k);
      }
    }
    EXPECT_EQ(cold_slots.size(), 4U);  // the others stand in every slot now and then
  }
}

TEST(routing_laws, hot_percent_is_the_share_of_hot_tokens) {
  auto spec = law_case(routing_law::hot_rank);
  spec.params.top_k = 1;
  spec.law.hot_rank = 2;  // owns 2 of 10 experts
  spec.law.hot_percent = 50;
  const auto experts = drawer(spec);
  constexpr int rows = 5000;
  int hot = 0;
  for (int token = 0; token < rows; ++token) hot += owner(spec, row_of(experts, spec, 0, token)[0]) == 2 ? 1 : 0;
  const double p = 0.5 + 0.5 * 0.2;
  EXPECT_NEAR(hot, rows * p, five_sigma(rows, p));
}

TEST(routing_laws, hot_expert_is_in_one_slot_anywhere) {
  auto spec = law_case(routing_law::hot_expert);
  spec.law.hot_expert = 7;
  const auto experts = drawer(spec);
  constexpr int rows = 4000;
  std::array<int, 4> slots{};
  for (int token = 0; token < rows; ++token) {
    const auto ids = row_of(experts, spec, 0, token);
    EXPECT_TRUE(all_distinct_experts(spec, ids));
    const auto at = std::ranges::find(ids, 7) - ids.begin();
    ASSERT_LT(at, 4);
    ++slots[static_cast<std::size_t>(at)];
  }
  for (const int count : slots) EXPECT_NEAR(count, rows / 4.0, five_sigma(rows, 0.25));
  spec.law.hot_percent = 0;
  const auto cold = drawer(spec);
  int with = 0;
  for (int token = 0; token < rows; ++token) with += std::ranges::count(row_of(cold, spec, 0, token), 7) > 0 ? 1 : 0;
  EXPECT_NEAR(with, rows * 0.4, five_sigma(rows, 0.4));  // 4 of 10
}

TEST(routing_laws, grouped_tokens_stay_in_their_groups) {
  auto spec = law_case(routing_law::grouped);
  spec.law.expert_groups = 4;  // 0-2, 3-5, 6-7, 8-9
  spec.law.groups_per_token = 2;
  const std::array<int, 10> group_of{0, 0, 0, 1, 1, 1, 2, 2, 3, 3};
  const auto experts = drawer(spec);
  std::map<std::set<int>, int> choices;
  constexpr int rows = 6000;
  for (int token = 0; token < rows; ++token) {
    std::set<int> groups;
    for (const auto id : row_of(experts, spec, 0, token)) groups.insert(group_of[static_cast<std::size_t>(id)]);
    ASSERT_EQ(groups.size(), 2U);  // 4 slots do not fit in a group of 3
    ++choices[groups];
  }
  ASSERT_EQ(choices.size(), 6U);
  for (const auto& [groups, count] : choices) EXPECT_NEAR(count, rows / 6.0, five_sigma(rows, 1.0 / 6));
}

TEST(routing_laws, local_and_remote_name_only_experts_that_there_are) {
  for (const int ep_size : {1, 2, 3, 4, 8}) {
    for (const auto law : {routing_law::local, routing_law::remote}) {
      const auto spec = law_case(law, ep_size);
      const auto experts = drawer(spec);
      for (int rank = 0; rank < ep_size; ++rank) {
        std::int64_t own = 0;
        for (int id = 0; id < 10; ++id) own += owner(spec, id) == rank ? 1 : 0;
        const auto named =
            static_cast<std::size_t>(std::min<std::int64_t>(4, law == routing_law::local ? own : 10 - own));
        std::set<std::int32_t> seen;
        for (int token = 0; token < 60; ++token) {
          const auto ids = row_of(experts, spec, rank, token);
          EXPECT_EQ(std::set<std::int32_t>(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(named)).size(),
                    named);
          for (std::size_t k = 0; k < ids.size(); ++k) {
            if (k >= named) {
              EXPECT_EQ(ids[k], -1);
            } else {
              EXPECT_EQ(owner(spec, ids[k]) == rank, law == routing_law::local);
              seen.insert(ids[k]);
            }
          }
        }
        // 240 draws of at most 10 experts: the chance that one is missed is below 10 * 0.9^240 = 10^-10.
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(law == routing_law::local ? own : 10 - own));
      }
    }
  }
}

TEST(routing_laws, slots_repeat_as_often_as_asked) {
  constexpr int rows = 4000;
  for (const int percent : {0, 30, 100}) {
    int second = 0;
    int third_is_first = 0;
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::array<std::int32_t, 3> ids{5, 6, 7};
      repeat_slots(percent, counter_random(key_of({row})), ids);
      EXPECT_EQ(ids[0], 5);
      second += ids[1] == 5 ? 1 : 0;
      third_is_first += ids[2] == 5 ? 1 : 0;
    }
    const double p = percent / 100.0;
    EXPECT_NEAR(second, rows * p, five_sigma(rows, p));
    const double q = p * (1 + p) / 2;  // repeats slot 0, or slot 1 that repeats slot 0
    EXPECT_NEAR(third_is_first, rows * q, five_sigma(rows, q));
  }
}

TEST(routing_laws, wide_bounds_are_reached_and_kept) {
  counter_random random(9);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.below_wide(5));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(random.below_wide(1), 0U);
  const std::uint64_t bound = (std::uint64_t{1} << 60) + 1;
  std::uint64_t most = 0;
  for (int i = 0; i < 200; ++i) most = std::max(most, random.below_wide(bound));
  EXPECT_LT(most, bound);
  EXPECT_GT(most, bound / 2);
}

}  // namespace
}  // namespace switchyard::harness
