// SPDX-License-Identifier: Apache-2.0
// Against published tables and examples, against SciPy 1.17 (scipy.stats.mannwhitneyu, false_discovery_control), and
// against all ways to deal the samples, counted one by one.
#include "switchyard/harness/gate/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace switchyard::harness::gate {
namespace {

using samples = std::vector<double>;

/// Permeability of membranes at term and at 12 to 26 weeks: Hollander and Wolfe, Nonparametric Statistical Methods,
/// table 4.1.
const samples at_term{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const samples early{1.15, 0.88, 0.90, 0.74, 1.21};

shift_estimate shift_of(const samples& a, const samples& b) {
  return hodges_lehmann(a, b, interval_rank(a.size(), b.size()));
}

TEST(mann_whitney, a_published_example) {
  const auto test = mann_whitney(at_term, early);
  EXPECT_EQ(test.u, 15);
  EXPECT_EQ(test.method, rank_sum_method::exact);
  EXPECT_NEAR(test.p_two_sided, 0.2544122544122544, 1e-15);  // the book: 0.1272 of one side
  const auto mirrored = mann_whitney(early, at_term);
  EXPECT_EQ(mirrored.u, 35);
  EXPECT_DOUBLE_EQ(mirrored.p_two_sided, test.p_two_sided);
}

TEST(mann_whitney, without_ties_as_scipy_says) {
  const samples a{14.5, 14.6, 14.55, 14.58, 14.61, 14.49, 14.52, 14.57, 14.62, 14.54};
  const samples b{14.63, 14.7, 14.59, 14.66, 14.71, 14.56, 14.68, 14.64, 14.75, 14.69};
  EXPECT_EQ(mann_whitney(a, b).u, 92);
  EXPECT_NEAR(mann_whitney(a, b).p_two_sided, 0.0007252809110394249, 1e-17);
}

TEST(mann_whitney, ties_take_their_mean_rank) {
  const auto test = mann_whitney(samples{14.557, 14.52, 14.55, 14.523, 14.557, 14.60},
                                 samples{14.6, 14.61, 14.557, 14.70, 14.65, 14.60, 14.7});
  EXPECT_EQ(test.u, 39);
  EXPECT_EQ(test.method, rank_sum_method::exact);
  EXPECT_NEAR(test.p_two_sided, 0.011655011655011656, 1e-16);
  EXPECT_EQ(mann_whitney(samples{2, 2, 2}, samples{2, 2}).p_two_sided, 1);
}

/// All ways to say which of the pooled samples are of b, one by one.
double p_by_dealing(const samples& a, const samples& b) {
  auto pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  const auto twice_u = [&](const std::vector<bool>& is_b) {
    int sum = 0;
    for (std::size_t i = 0; i < pooled.size(); ++i) {
      for (std::size_t j = 0; j < pooled.size(); ++j) {
        if (is_b[i] && !is_b[j]) sum += pooled[i] > pooled[j] ? 2 : static_cast<int>(pooled[i] == pooled[j]);
      }
    }
    return sum;
  };
  std::vector<bool> is_b(pooled.size(), false);
  std::fill(is_b.begin() + static_cast<std::ptrdiff_t>(a.size()), is_b.end(), true);
  const int seen = twice_u(is_b);
  int all = 0;
  int below = 0;
  int above = 0;
  do {  // from sorted order: every way once
    const int other = twice_u(is_b);
    ++all;
    below += static_cast<int>(other <= seen);
    above += static_cast<int>(other >= seen);
  } while (std::next_permutation(is_b.begin(), is_b.end()));
  return std::min(1.0, 2.0 * std::min(below, above) / all);
}

TEST(mann_whitney, every_pattern_of_ties_as_dealt_one_by_one) {
  for (unsigned pattern = 0; pattern < 200; ++pattern) {
    samples a;
    samples b;
    for (unsigned i = 0; i < 4 + pattern % 2; ++i) a.push_back((pattern * 7 + i * i * 5) % (3 + pattern % 5));
    for (unsigned i = 0; i < 3 + pattern % 3; ++i) b.push_back((pattern * 3 + i * 11) % (4 + pattern % 4));
    EXPECT_NEAR(mann_whitney(a, b).p_two_sided, p_by_dealing(a, b), 1e-14) << pattern;
  }
}

TEST(mann_whitney, many_samples_by_the_normal_approximation_as_scipy_says) {
  samples a;
  samples b;
  samples tied_a;
  samples tied_b;
  for (int i = 0; i < 40; ++i) a.push_back((i * 37 % 101) / 4.0);
  for (int i = 0; i < 35; ++i) b.push_back((i * 53 % 97) / 4.0 + 3);
  for (int i = 0; i < 40; ++i) tied_a.push_back(std::nearbyint((i * 37 % 101) / 10.0));
  for (int i = 0; i < 35; ++i) tied_b.push_back(std::nearbyint((i * 53 % 97) / 10.0) + 1);
  const auto test = mann_whitney(a, b);
  EXPECT_EQ(test.method, rank_sum_method::normal);
  EXPECT_EQ(test.u, 795);
  EXPECT_NEAR(test.p_two_sided, 0.31554021573397617, 1e-14);
  EXPECT_EQ(mann_whitney(tied_a, tied_b).u, 761);
  EXPECT_NEAR(mann_whitney(tied_a, tied_b).p_two_sided, 0.5185379723601866, 1e-14);
  EXPECT_EQ(mann_whitney(samples(30, 1.5), samples(30, 1.5)).p_two_sided, 1);
}

TEST(mann_whitney, the_smallest_p_of_so_many_launches) {
  EXPECT_NEAR(least_p(4, 4), 0.029, 0.0005);
  EXPECT_NEAR(least_p(6, 6), 0.0022, 0.00005);
  EXPECT_NEAR(least_p(8, 8), 0.00016, 0.000005);
  for (const std::size_t count : {4U, 6U, 8U, 10U, 25U}) {
    samples a(count);
    std::iota(a.begin(), a.end(), 0.0);
    auto b = a;
    for (auto& one : b) one += 1000;
    EXPECT_NEAR(mann_whitney(a, b).p_two_sided / least_p(count, count), 1, 1e-12) << count;
  }
}

TEST(interval_rank, agrees_with_the_published_critical_values) {
  // Critical U at 0.05, two-sided and one-sided: Mann and Whitney 1947 as extended by Auble 1953, printed in most
  // textbooks. The rank counts from 1, so it is one more.
  struct row {
    std::size_t a, b, two_sided, one_sided;
  };
  for (const auto& [a, b, two_sided, one_sided] :
       {row{4, 4, 0, 1}, row{5, 5, 2, 4}, row{6, 6, 5, 7}, row{7, 9, 12, 15}, row{8, 8, 13, 15}, row{10, 10, 23, 27},
        row{10, 20, 55, 62}, row{20, 20, 127, 138}}) {
    EXPECT_EQ(interval_rank(a, b, 0.025).value(), two_sided + 1) << a << ' ' << b;
    EXPECT_EQ(interval_rank(b, a, 0.025).value(), two_sided + 1) << a << ' ' << b;
    EXPECT_EQ(interval_rank(a, b).value(), one_sided + 1) << a << ' ' << b;
  }
  EXPECT_FALSE(interval_rank(3, 3, 0.025));
  EXPECT_FALSE(interval_rank(2, 2));
  EXPECT_FALSE(interval_rank(1, 10));
  EXPECT_FALSE(interval_rank(0, 20));
}

TEST(interval_rank, the_approximation_goes_on_where_counting_ends) {
  EXPECT_EQ(interval_rank(25, 25, 0.025).value(), 212U);
  // Counted for 26 and 26 it is 231: the approximation may be one off.
  EXPECT_NEAR(static_cast<double>(interval_rank(26, 26, 0.025).value()), 231, 1);
}

TEST(hodges_lehmann, a_published_example) {
  const auto estimate = hodges_lehmann(at_term, early, interval_rank(10, 5, 0.025));
  EXPECT_NEAR(estimate.shift, -0.305, 1e-12);  // and the interval: Hollander and Wolfe, and R's wilcox.test
  EXPECT_NEAR(estimate.lower.value(), -0.76, 1e-12);
  EXPECT_NEAR(estimate.upper.value(), 0.15, 1e-12);
}

TEST(hodges_lehmann, a_shift_is_found_with_its_bounds) {
  const samples a{14.5, 14.6, 14.55, 14.58, 14.61, 14.49, 14.52, 14.57, 14.62, 14.54};
  auto b = a;
  for (auto& one : b) one += 1.25;
  const auto estimate = shift_of(a, b);
  EXPECT_NEAR(estimate.shift, 1.25, 1e-12);
  EXPECT_LT(estimate.lower.value(), 1.25);
  EXPECT_GT(estimate.upper.value(), 1.25);
  EXPECT_NEAR(estimate.upper.value() - 1.25, 1.25 - estimate.lower.value(), 1e-12);
}

TEST(hodges_lehmann, few_samples_have_no_bounds) {
  const auto estimate = shift_of({1, 2}, {11, 12});
  EXPECT_EQ(estimate.shift, 10);
  EXPECT_FALSE(estimate.lower);
  EXPECT_FALSE(estimate.upper);
}

TEST(hodges_lehmann, very_many_differences_are_never_held) {
  samples a;
  samples b;
  for (int i = 0; i < 1001; ++i) a.push_back(std::sin(i * 0.7) * 3 - 1);
  for (int i = 0; i < 1003; ++i) b.push_back(std::cos(i * 0.3) * 5);
  samples differences;
  for (const double from : a) {
    for (const double to : b) differences.push_back(to - from);
  }
  std::ranges::sort(differences);
  const std::size_t rank = 450'000;
  const auto estimate = hodges_lehmann(a, b, rank);
  EXPECT_EQ(estimate.shift, differences[differences.size() / 2]);
  EXPECT_EQ(estimate.lower.value(), differences[rank - 1]);
  EXPECT_EQ(estimate.upper.value(), differences[differences.size() - rank]);
}

TEST(benjamini_hochberg, the_published_example) {
  // Benjamini and Hochberg 1995, section 3.2: at 0.05 the first four are findings.
  const samples p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                  0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const samples scipy{0.0015,
                      0.003,
                      0.0095,
                      0.035625,
                      0.0603,
                      0.06385714285714286,
                      0.06385714285714286,
                      0.0645,
                      0.07650,
                      0.486,
                      0.5811818182,
                      0.714875,
                      0.753231,
                      0.8132142857,
                      1.0};
  const auto q = benjamini_hochberg(p);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(q[i], scipy[i], 1e-6) << i;
  EXPECT_EQ(std::ranges::count_if(q, [](double one) { return one < 0.05; }), 4);
}

TEST(benjamini_hochberg, keeps_the_order_it_was_given) {
  EXPECT_EQ(benjamini_hochberg(samples{0.04, 0.01}), (samples{0.04, 0.02}));
  EXPECT_EQ(benjamini_hochberg(samples{0.5, 0.5}), (samples{0.5, 0.5}));
  EXPECT_TRUE(benjamini_hochberg(samples{}).empty());
}

}  // namespace
}  // namespace switchyard::harness::gate
