// SPDX-License-Identifier: Apache-2.0
// Statistics of two small groups of samples whose distribution nobody knows: tests on ranks only.
//
// a is the base, b what is compared with it. No sample may be NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace switchyard::harness::gate {

/// How a p value was come by.
enum class rank_sum_method : std::uint8_t {
  exact,   ///< all ways to deal the pooled ranks, ties at their mean rank, counted
  normal,  ///< normal approximation with corrections for ties and for continuity
};
std::string_view to_string(rank_sum_method which) noexcept;

/// Up to so many samples of both groups together all ways are counted: their number, at most C(50, 25), is an integer
/// that a double holds.
inline constexpr std::size_t most_exact_samples = 50;

/// Whether b tends to be larger or smaller than a (Mann and Whitney 1947, after Wilcoxon).
struct rank_sum_test {
  double u = 0;            ///< pairs in which b is larger, those that tie counting half
  double p_two_sided = 1;  ///< twice the smaller tail, at most 1
  rank_sum_method method = rank_sum_method::exact;
};
/// Precondition: neither is empty.
rank_sum_test mann_whitney(std::span<const double> a, std::span<const double> b);

/// The smallest two-sided p that so many samples can have.
double least_p(std::size_t samples_a, std::size_t samples_b);

/// Each bound of an interval is wrong by chance in so many cases: 95 % of certainty for the one bound that decides, 90
/// % for both at once.
inline constexpr double bound_tail = 0.05;

/// Which of the sorted differences b - a, counted from 1 from either end, bound the interval for the shift: from the
/// distribution of U without ties, which with ties makes the interval no narrower than promised. None: so few samples
/// bound nothing with that certainty.
std::optional<std::size_t> interval_rank(std::size_t samples_a, std::size_t samples_b, double tail = bound_tail);

/// How far b lies above a (Hodges and Lehmann 1963): the median of all differences b - a.
struct shift_estimate {
  double shift = 0;
  std::optional<double> lower;  ///< of the interval, both or neither
  std::optional<double> upper;
};
/// `rank` is interval_rank() of the two sizes, which a caller with many groups of equal sizes looks up once.
/// Precondition: neither is empty.
shift_estimate hodges_lehmann(std::span<const double> a, std::span<const double> b, std::optional<std::size_t> rank);

/// q values of p values (Benjamini and Hochberg 1995), in the same order: among the findings with q below x at most a
/// part x is expected to be false.
std::vector<double> benjamini_hochberg(std::span<const double> p);

}  // namespace switchyard::harness::gate
