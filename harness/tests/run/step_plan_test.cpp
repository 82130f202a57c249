// SPDX-License-Identifier: Apache-2.0
// Shapes of steps: within the rules, all of them reached, the same every time.
#include "switchyard/harness/step_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "small_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

TEST(step_plan_test, fixed_steps_are_as_the_case_says) {
  auto spec = small_case(3);
  spec.invalid_percent = 20;
  for (int step = 0; step < 4; ++step) {
    const auto plan = make_step_plan(spec, 1, step);
    EXPECT_EQ(plan.num_tokens, (std::vector<std::int64_t>{9, 9, 9}));
    EXPECT_EQ(plan.tokens_per_rank, 11);
    EXPECT_TRUE(plan.topk_weights);
    EXPECT_TRUE(plan.extra);
    EXPECT_EQ(plan.invalid_percent, 20);
    EXPECT_EQ(plan.combine_hidden_size, 24);
    EXPECT_EQ(plan.source == combine_source::workspace_rows, step % 2 == 0);
  }
  spec.runtime_max_tokens.reset();
  EXPECT_EQ(make_step_plan(spec, 1, 0).tokens_per_rank, 9);
  spec.num_tokens = 0;
  EXPECT_EQ(make_step_plan(spec, 1, 0).tokens_per_rank, 1);
}

TEST(step_plan_test, varying_steps_keep_the_rules_and_reach_the_ends) {
  auto spec = small_case(3);
  spec.variation = step_variation::vary;
  std::set<std::int64_t> widths;
  bool all_empty = false;
  bool all_full = false;
  bool exact = false;
  bool capacity = false;
  std::set<int> invalid;
  std::set<std::tuple<bool, bool, combine_source>> sets;
  for (int step = 0; step < 400; ++step) {
    const auto plan = make_step_plan(spec, 1, step);
    const auto most = std::ranges::max(plan.num_tokens);
    const auto least = std::ranges::min(plan.num_tokens);
    ASSERT_GE(least, 0);
    ASSERT_LE(most, spec.num_tokens);
    ASSERT_GE(plan.tokens_per_rank, std::max<std::int64_t>(1, most));
    ASSERT_LE(plan.tokens_per_rank, 12);
    ASSERT_GE(plan.combine_hidden_size, 1);
    ASSERT_LE(plan.combine_hidden_size, 24);
    all_empty |= most == 0;
    all_full |= least == spec.num_tokens;
    exact |= plan.tokens_per_rank == most;
    capacity |= plan.tokens_per_rank == 12;
    widths.insert(plan.combine_hidden_size);
    invalid.insert(plan.invalid_percent);
    sets.emplace(plan.topk_weights, plan.extra, plan.source);
    EXPECT_EQ(plan, make_step_plan(spec, 1, step));
  }
  EXPECT_TRUE(all_empty && all_full && exact && capacity);
  EXPECT_EQ(widths, (std::set<std::int64_t>{7, 12, 23, 24}));
  EXPECT_EQ(invalid, (std::set<int>{0, 15, 90}));
  EXPECT_EQ(sets.size(), 8U);
}

TEST(step_plan_test, counts_and_padding_follow_their_tables) {
  auto spec = small_case(3);
  spec.runtime_max_tokens.reset();
  spec.token_counts = step_counts::parse("0:9:4/2").value();
  spec.padding_rows = step_counts::parse("3/0:1:2").value();
  for (int step = 0; step < 4; step += 2) {
    auto plan = make_step_plan(spec, 1, step);
    EXPECT_EQ(plan.num_tokens, (std::vector<std::int64_t>{0, 9, 4}));
    EXPECT_EQ(plan.padding_rows, (std::vector<std::int64_t>{0, 3, 3}));
    EXPECT_EQ(plan.tokens_per_rank, 9);
    plan = make_step_plan(spec, 1, step + 1);
    EXPECT_EQ(plan.num_tokens, (std::vector<std::int64_t>{2, 2, 2}));
    EXPECT_EQ(plan.padding_rows, (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(plan.tokens_per_rank, 2);
    EXPECT_FALSE(plan.ranks_disagree());
  }
}

TEST(step_plan_test, strides_come_from_where_the_case_says) {
  auto spec = small_case(3);
  spec.runtime_max_tokens.reset();
  spec.runtime_max_tokens_from = runtime_max_rule::capacity;
  EXPECT_EQ(make_step_plan(spec, 1, 0).tokens_per_rank, 12);
  spec.runtime_max_tokens_from = runtime_max_rule::drawn;
  std::set<std::int64_t> drawn;
  for (int step = 0; step < 60; ++step) drawn.insert(make_step_plan(spec, 1, step).tokens_per_rank);
  EXPECT_EQ(drawn, (std::set<std::int64_t>{9, 10, 11, 12}));
  EXPECT_EQ(largest_tokens_per_rank(spec), 12);
  spec.runtime_max_tokens_from = runtime_max_rule::own_tokens;
  spec.token_counts = step_counts::parse("0:9:1").value();
  const auto plan = make_step_plan(spec, 1, 0);
  EXPECT_TRUE(plan.ranks_disagree());
  EXPECT_EQ(plan.tokens_per_rank_of(0), 1);
  EXPECT_EQ(plan.tokens_per_rank_of(1), 9);
  EXPECT_EQ(plan.tokens_per_rank_of(2), 1);
  EXPECT_EQ(plan.tokens_per_rank, 9);
  EXPECT_EQ(largest_tokens_per_rank(spec), 9);
}

TEST(step_plan_test, empty_ranks_are_drawn_anew_each_step) {
  auto spec = small_case(4);
  for (const auto variation : all_step_variations) {
    spec.variation = variation;
    for (const int empty : {1, 3, 4, 200}) {
      spec.empty_ranks = empty;
      std::set<std::size_t> seen;
      for (int step = 0; step < 40; ++step) {
        const auto counts = make_step_plan(spec, 1, step).num_tokens;
        const auto zeros = std::ranges::count(counts, 0);
        EXPECT_GE(zeros, std::min(empty, 4));
        if (variation == step_variation::fixed) {
          EXPECT_EQ(zeros, std::min(empty, 4));
        }
        for (std::size_t rank = 0; rank < 4; ++rank) {
          if (counts[rank] == 0) seen.insert(rank);
        }
      }
      EXPECT_EQ(seen.size(), 4U);
    }
  }
}

TEST(step_plan_test, the_late_rank_can_be_chosen) {
  auto spec = small_case(3);
  spec.late = {200us, {}};
  std::vector<std::chrono::microseconds> lengths;
  for (int step = 0; step < 20; ++step) lengths.push_back(make_delay(spec, 1, step, phase::combine).length);
  spec.late.rank = 2;
  for (int step = 0; step < 20; ++step) {
    const auto chosen = make_delay(spec, 1, step, phase::combine);
    EXPECT_EQ(chosen.rank, 2);
    EXPECT_EQ(chosen.length, lengths[static_cast<std::size_t>(step)]);
  }
}

TEST(step_plan_test, payloads_that_the_case_lacks_never_travel) {
  auto spec = small_case(2);
  spec.variation = step_variation::vary;
  spec.topk_weights = false;
  spec.extra_bytes = 0;
  for (int step = 0; step < 50; ++step) {
    EXPECT_FALSE(make_step_plan(spec, 1, step).topk_weights);
    EXPECT_FALSE(make_step_plan(spec, 1, step).extra);
  }
}

TEST(step_plan_test, delays_hit_every_rank_and_stay_below_the_bound) {
  auto spec = small_case(3);
  EXPECT_EQ(make_delay(spec, 1, 0, phase::dispatch).rank, -1);
  spec.late.at_most = 200us;
  std::set<int> ranks;
  std::chrono::microseconds longest{0};
  for (int step = 0; step < 200; ++step) {
    for (const auto which : {phase::dispatch, phase::combine}) {
      const auto drawn = make_delay(spec, 1, step, which);
      EXPECT_GE(drawn.length, 0us);
      EXPECT_LE(drawn.length, 200us);
      longest = std::max(longest, drawn.length);
      ranks.insert(drawn.rank);
    }
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2}));
  EXPECT_GT(longest, 190us);
}

}  // namespace
}  // namespace switchyard::harness
