// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/lamport_tuning.hpp"

#include <algorithm>

namespace switchyard::harness {
namespace {

/// What going by one transport costs at a point where the other is faster; 0 where it is not.
double loss_us(const transport_comparison& point, bench_transport chosen) {
  const auto more = chosen == bench_transport::lamport ? point.difference_us() : -point.difference_us();
  return std::max(more, 0.0);
}

double better_us(const transport_comparison& point) { return std::min(point.fence.median_us, point.lamport.median_us); }

double excess_us(const transport_comparison& point, bench_transport chosen) {
  return std::max(loss_us(point, chosen) - tolerance_us(better_us(point), point.noise_us.value_or(0)), 0.0);
}

/// A threshold above the first `by_lamport` points.
struct threshold_cost {
  double worst_excess_us = 0;
  double lost_parts = 0;
  auto operator<=>(const threshold_cost&) const = default;
};

template <class Visit>
void visit_choices(std::span<const transport_comparison> points, std::size_t by_lamport, Visit visit) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    visit(points[i], i < by_lamport ? bench_transport::lamport : bench_transport::fence);
  }
}

threshold_cost cost_of(std::span<const transport_comparison> points, std::size_t by_lamport) {
  threshold_cost cost;
  visit_choices(points, by_lamport, [&](const transport_comparison& point, bench_transport chosen) {
    cost.worst_excess_us = std::max(cost.worst_excess_us, excess_us(point, chosen));
    const auto loss = loss_us(point, chosen);
    if (loss > point.noise_us.value_or(0)) cost.lost_parts += loss / better_us(point);
  });
  return cost;
}

}  // namespace

lamport_threshold decide_threshold(std::span<const transport_comparison> points) {
  lamport_threshold result;
  if (points.empty()) return result;
  result.measured = true;
  std::size_t best = 0;
  for (std::size_t i = 1; i <= points.size(); ++i) {
    if (cost_of(points, i) < cost_of(points, best)) best = i;
  }
  // Exactly equal: what lies between them adds nothing to either sum.
  auto last = best;
  while (last < points.size() && cost_of(points, last + 1) == cost_of(points, best)) ++last;
  const auto tokens_at = [&](std::size_t by_lamport) { return by_lamport == 0 ? 0 : points[by_lamport - 1].tokens; };
  result.max_tokens = tokens_at(best);
  result.as_good_up_to = tokens_at(last);
  result.open_ended = last == points.size() && best > 0;
  visit_choices(points, best, [&](const transport_comparison& point, bench_transport chosen) {
    if (excess_us(point, chosen) > 0) result.too_slow_at.push_back(point.tokens);
  });
  return result;
}

std::vector<std::int64_t> tokens_around(std::span<const transport_comparison> points,
                                        const lamport_threshold& threshold, int most) {
  const auto next =
      std::ranges::find_if(points, [&](const auto& point) { return point.tokens > threshold.as_good_up_to; });
  if (!threshold.measured || next == points.end()) return {};
  const auto from = threshold.max_tokens;
  const auto gap = next->tokens - from;
  std::vector<std::int64_t> result;
  for (std::int64_t i = 1; i <= most; ++i) {
    const auto tokens = from + gap * i / (most + 1);
    const bool known = tokens == from || std::ranges::count(points, tokens, &transport_comparison::tokens) != 0;
    if (!known && std::ranges::count(result, tokens) == 0) result.push_back(tokens);
  }
  return result;
}

}  // namespace switchyard::harness
