// SPDX-License-Identifier: Apache-2.0
// Covering arrays: every pair that can be is there, nothing forbidden is, and there are few rows.
#include "switchyard/harness/pairwise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

namespace switchyard::harness {
namespace {

using pair_of_values = std::vector<std::size_t>;  // axis, value, axis, value

void for_each_pair(const combination& row, const std::function<void(const pair_of_values&)>& call) {
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) call({a, row[a], b, row[b]});
  }
}

/// All combinations, one after another: what the array is judged by knows nothing of how it was made.
std::set<pair_of_values> pairs_of_allowed_combinations(const combination_space& space) {
  std::set<pair_of_values> pairs;
  combination row(space.axis_sizes.size(), 0);
  while (true) {
    if (space.allows(row)) for_each_pair(row, [&](const auto& pair) { pairs.insert(pair); });
    std::size_t axis = 0;
    while (axis < row.size() && ++row[axis] == space.axis_sizes[axis]) row[axis++] = 0;
    if (axis == row.size()) return pairs;
  }
}

void expect_covers(const combination_space& space, const std::vector<combination>& rows) {
  std::set<pair_of_values> covered;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), space.axis_sizes.size());
    EXPECT_TRUE(space.allows(row));
    for_each_pair(row, [&](const auto& pair) { covered.insert(pair); });
  }
  EXPECT_EQ(covered, pairs_of_allowed_combinations(space));
}

TEST(pairwise, every_pair_of_two_axes_is_a_product) {
  const combination_space space{{3, 4}, {}};
  const auto rows = pairwise_rows(space);
  EXPECT_EQ(rows.size(), 12U);
  expect_covers(space, rows);
}

TEST(pairwise, every_pair_is_covered_in_few_rows) {
  struct row {
    std::vector<std::size_t> sizes;
    std::size_t at_most;
  };
  for (const auto& [sizes, at_most] : std::vector<row>{
           {{2, 2, 2}, 4},
           {{2, 2, 2, 2, 2, 2, 2}, 8},
           {{3, 3, 3, 3}, 12},
           {{7, 5, 3, 2, 2, 2}, 37},
           {{1, 6, 1, 5}, 30},
       }) {
    const combination_space space{sizes, {}};
    const auto rows = pairwise_rows(space);
    EXPECT_LE(rows.size(), at_most);
    expect_covers(space, rows);
  }
}

TEST(pairwise, one_axis_gives_its_possible_values) {
  const combination_space space{{4}, {{{{0, {1, 3}}}}}};
  EXPECT_EQ(pairwise_rows(space), (std::vector<combination>{{0}, {2}}));
}

TEST(pairwise, nothing_forbidden_is_made_and_what_it_alone_has_is_not_owed) {
  // The first pattern takes whole pairs away, the second only combinations of three, the third and fourth together
  // leave value 2 of axis 3 without a partner of axis 0 other than 1.
  const combination_space space{
      {3, 3, 4, 3, 2},
      {{{{0, {0}}, {1, {1, 2}}}}, {{{1, {0}}, {2, {3}}, {4, {1}}}}, {{{3, {2}}, {0, {0}}}}, {{{3, {2}}, {0, {2}}}}}};
  const auto rows = pairwise_rows(space);
  expect_covers(space, rows);
  EXPECT_LE(rows.size(), 17U);
}

TEST(pairwise, a_pair_that_only_a_chain_of_patterns_rules_out_is_not_owed) {
  // Value 0 of axis 0 needs value 0 of axis 1, which needs value 0 of axis 2, so (0, 0, 2, 1) cannot be completed.
  const combination_space space{{2, 2, 2, 3}, {{{{0, {0}}, {1, {1}}}}, {{{1, {0}}, {2, {1}}}}}};
  expect_covers(space, pairwise_rows(space));
}

TEST(pairwise, nothing_allowed_gives_no_row) {
  const combination_space space{{2, 2, 3}, {{{{0, {0}}}}, {{{0, {1}}, {1, {0, 1}}}}}};
  EXPECT_TRUE(pairwise_rows(space).empty());
  EXPECT_EQ(space.possible_values(),
            (std::vector<std::vector<bool>>{{false, false}, {false, false}, {false, false, false}}));
}

TEST(pairwise, possible_values_are_those_of_allowed_combinations) {
  const combination_space space{{3, 2}, {{{{0, {0}}}}, {{{0, {1}}, {1, {0}}}}, {{{0, {2}}, {1, {0}}}}}};
  EXPECT_EQ(space.possible_values(), (std::vector<std::vector<bool>>{{false, true, true}, {false, true}}));
}

TEST(pairwise, is_the_same_every_time) {
  const combination_space space{{5, 4, 6, 3, 2}, {{{{0, {1}}, {2, {3, 4}}}}}};
  const auto rows = pairwise_rows(space);
  EXPECT_EQ(pairwise_rows(space), rows);
  // The first rows, written down: another build or platform must not make other cases out of the same file.
  EXPECT_EQ(rows.size(), 28U);
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows[0], (combination{4, 0, 0, 1, 0}));
  EXPECT_EQ(rows[1], (combination{4, 3, 3, 2, 1}));
  EXPECT_EQ(rows[2], (combination{2, 2, 5, 0, 0}));
}

TEST(pairwise, a_suite_of_many_axes_is_made_at_once) {
  const combination_space ours{{14, 18, 12, 13, 9, 6, 4, 4, 4, 3, 3, 2, 2, 2}, {}};
  const auto of_ours = pairwise_rows(ours).size();
  EXPECT_LE(of_ours, 18U * 14U * 13U / 10U);
  RecordProperty("rows", std::to_string(of_ours));
  const combination_space even{std::vector<std::size_t>(12, 16), {}};
  const auto begin = std::chrono::steady_clock::now();
  const auto of_even = pairwise_rows(even).size();
  EXPECT_LE(of_even, 16U * 16U * 18U / 10U);
  RecordProperty("even_rows", std::to_string(of_even));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  RecordProperty("seconds", std::to_string(taken.count()));
}

}  // namespace
}  // namespace switchyard::harness
