// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_crossover.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace switchyard::harness {
namespace {

/// The times of each transport that was measured, by tokens.
using trips_by_tokens = std::map<std::int64_t, std::array<const trip_samples*, all_bench_transports.size()>>;

trips_by_tokens by_tokens(std::span<const trip_samples> trips) {
  trips_by_tokens result;
  for (const auto& one : trips) result[one.tokens][static_cast<std::size_t>(one.by)] = &one;
  return result;
}

/// The most of what is known.
std::optional<double> most_of(std::initializer_list<std::optional<double>> values) {
  std::optional<double> result;
  for (const auto& value : values) {
    if (value) result = std::max(result.value_or(0), *value);
  }
  return result;
}

std::optional<double> half_range(const trip_summary& of) {
  if (!of.p10_us || !of.p90_us) return std::nullopt;
  return (*of.p90_us - *of.p10_us) / 2;
}

}  // namespace

std::vector<trip_samples> trips_of(std::span<const bench_point> points) {
  std::vector<trip_samples> result;
  for (const auto& point : points) {
    if (point.asked == bench_transport::lamport && point.taken != transport::lamport) continue;
    result.push_back({point.tokens, point.asked, max_over_ranks(point.round_trip_us)});
  }
  return result;
}

std::vector<trip_samples> trips_of(std::span<const repeated_point> points) {
  std::vector<trip_samples> result;
  for (const auto& point : points) {
    if (point.asked == bench_transport::lamport && point.taken != transport::lamport) continue;
    result.push_back({point.tokens, point.asked, point.round_trip_us});
  }
  return result;
}

trip_summary summary_of(std::span<const double> us) {
  trip_summary result;
  const auto order = order_statistics_of({us.begin(), us.end()});
  const auto noise = noise_of(us);
  result.count = us.size();
  result.median_us = noise.median_us;
  result.p10_us = order.p10;
  result.p90_us = order.p90;
  result.aa_shift_us = noise.aa_shift_us;
  return result;
}

bool transport_comparison::decided() const noexcept { return noise_us && std::abs(difference_us()) > *noise_us; }

std::vector<transport_comparison> compare_transports(std::span<const trip_samples> trips) {
  std::vector<transport_comparison> result;
  for (const auto& [tokens, of] : by_tokens(trips)) {
    const auto* const fence = of[static_cast<std::size_t>(bench_transport::fence)];
    const auto* const lamport = of[static_cast<std::size_t>(bench_transport::lamport)];
    if (fence == nullptr || lamport == nullptr) continue;
    transport_comparison point{tokens, summary_of(fence->us), summary_of(lamport->us), {}};
    point.noise_us = most_of(
        {half_range(point.fence), half_range(point.lamport), point.fence.aa_shift_us, point.lamport.aa_shift_us});
    result.push_back(point);
  }
  return result;
}

std::string_view to_string(crossover_kind kind) noexcept {
  switch (kind) {
    case crossover_kind::unmeasured: return "unmeasured";
    case crossover_kind::none: return "none";
    case crossover_kind::within: return "within";
    case crossover_kind::beyond: return "beyond";
  }
  return "unknown";
}

std::vector<std::int64_t> crossover::fence_faster_below() const {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < last; ++i) {
    if (!points[i].lamport_at_most_fence()) result.push_back(points[i].tokens);
  }
  return result;
}

crossover crossover_of(std::vector<transport_comparison> points) {
  crossover result;
  result.points = std::move(points);
  if (result.points.empty()) return result;
  result.kind = crossover_kind::none;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    if (!result.points[i].lamport_at_most_fence()) continue;
    result.last = i;
    result.kind = i + 1 == result.points.size() ? crossover_kind::beyond : crossover_kind::within;
  }
  return result;
}

double tolerance_us(double time_us, double noise_us) noexcept {
  constexpr double part = 0.05;
  constexpr double least_us = 0.3;
  return std::max({part * time_us, least_us, noise_us});
}

std::vector<auto_verdict> check_auto(std::span<const trip_samples> trips) {
  std::vector<auto_verdict> result;
  for (const auto& at : by_tokens(trips)) {
    const auto& of = at.second;
    if (std::ranges::count(of, nullptr) != 0) continue;
    const auto summary = [&](bench_transport which) { return summary_of(of[static_cast<std::size_t>(which)]->us); };
    const auto chosen = summary(bench_transport::automatic);
    const auto fence = summary(bench_transport::fence);
    const auto lamport = summary(bench_transport::lamport);
    const bool lamport_better = lamport.median_us <= fence.median_us;
    const auto& better = lamport_better ? lamport : fence;
    const auto noise_us = most_of({chosen.aa_shift_us, better.aa_shift_us}).value_or(0);
    result.push_back({at.first, chosen.median_us, lamport_better ? bench_transport::lamport : bench_transport::fence,
                      better.median_us, better.median_us + tolerance_us(better.median_us, noise_us)});
  }
  return result;
}

}  // namespace switchyard::harness
