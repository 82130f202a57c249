// SPDX-License-Identifier: Apache-2.0
// What measured times mean.
#include "switchyard/harness/bench_accounting.hpp"

#include <algorithm>

namespace switchyard::harness {
namespace {

/// Nearest rank: the smallest value that at least `percent` of all values do not exceed.
double percentile_of(const std::vector<double>& sorted, std::size_t percent) {
  const auto rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

}  // namespace

order_statistics order_statistics_of(std::vector<double> values) {
  constexpr std::size_t least_for_p90 = 29;  // 0.9^29 < 0.05, as 0.99^299 is
  constexpr std::size_t least_for_p99 = 299;
  std::ranges::sort(values);
  order_statistics result;
  result.count = values.size();
  if (values.empty()) return result;
  result.p50 = percentile_of(values, 50);
  if (values.size() >= least_for_p90) result.p90 = percentile_of(values, 90);
  if (values.size() >= least_for_p99) result.p99 = percentile_of(values, 99);
  return result;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> max_over_ranks(std::span<const std::vector<double>> of_ranks) {
  auto result = of_ranks.front();
  for (const auto& one : of_ranks.subspan(1)) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], one.at(i));
  }
  return result;
}

std::uint64_t remote_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing,
                              std::size_t row_bytes) {
  std::uint64_t most = 0;
  for (const auto& rank : reference::count_traffic(shape, routing, row_bytes)) {
    most = std::max({most, rank.remote_send_bytes, rank.remote_recv_bytes});
  }
  return most;
}

double floor_us(const link_yardstick& link, std::uint64_t remote_bytes) {
  // 10^9 bytes a second are 10^3 bytes a microsecond.
  return link.empty_node_us + link.flag_latency_us +
         static_cast<double>(remote_bytes) / (link.push_both_ways_gb_s * 1000.0);
}

std::optional<double> rate_gb_s(std::uint64_t bytes, double time_us) {
  if (bytes == 0) return std::nullopt;
  return static_cast<double>(bytes) / (time_us * 1000.0);
}

std::optional<double> of_link(const link_yardstick& link, std::uint64_t bytes, double time_us) {
  const auto rate = rate_gb_s(bytes, time_us);
  if (!rate) return std::nullopt;
  return *rate / link.push_both_ways_gb_s;
}

}  // namespace switchyard::harness
