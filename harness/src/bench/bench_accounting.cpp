// SPDX-License-Identifier: Apache-2.0
// What measured times mean.
#include "switchyard/harness/bench_accounting.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

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
  if (values.size() >= least_for_p90) {
    result.p10 = percentile_of(values, 10);
    result.p90 = percentile_of(values, 90);
  }
  if (values.size() >= least_for_p99) result.p99 = percentile_of(values, 99);
  return result;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<std::size_t> turns_of_round(std::size_t count, int round) {
  std::vector<std::size_t> turns(count);
  std::iota(turns.begin(), turns.end(), std::size_t{0});
  if (round % 2 != 0) std::ranges::reverse(turns);
  return turns;
}

std::vector<double> max_over_ranks(std::span<const std::vector<double>> of_ranks) {
  auto result = of_ranks.front();
  for (const auto& one : of_ranks.subspan(1)) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], one.at(i));
  }
  return result;
}

phase_bytes phase_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing,
                           std::size_t row_bytes, std::size_t meta_row_bytes) {
  phase_bytes most;
  const auto keep = [](std::uint64_t& kept, std::uint64_t one) { kept = std::max(kept, one); };
  // Counted in rows, so that what goes with a row is counted alike.
  for (const auto& rows : reference::count_traffic(shape, routing, 1)) {
    const auto remote = std::max(rows.remote_send_bytes, rows.remote_recv_bytes);
    keep(most.remote_bytes, remote * row_bytes);
    keep(most.meta_bytes, remote * meta_row_bytes);
    keep(most.local_bytes, (rows.unique_bytes - rows.remote_send_bytes) * row_bytes);
    keep(most.unique_bytes, rows.unique_bytes * row_bytes);
    keep(most.selection_bytes, rows.selection_bytes * row_bytes);
  }
  return most;
}

phase_bytes dispatch_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing) {
  const auto meta = static_cast<std::size_t>(shape.params.top_k) * (sizeof(std::int32_t) + sizeof(float));
  return phase_bytes_of(shape, routing, shape.params.dispatch_bytes_per_token(), meta);
}

phase_bytes combine_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing,
                             low_precision combine) {
  const auto row = combine_bytes_of(combine, shape.params.dtype, static_cast<std::size_t>(shape.params.hidden_size));
  return phase_bytes_of(shape, routing, row, 0);
}

std::optional<clock_offset> offset_of(std::span<const clock_exchange> exchanges) {
  if (exchanges.empty()) return std::nullopt;
  const auto took = [](const clock_exchange& one) { return one.returned_ns - one.sent_ns; };
  const auto best = *std::ranges::min_element(exchanges, {}, took);
  // Differences first: a double has no nanoseconds left at the size of the clock itself.
  const auto half = static_cast<double>(took(best)) / 2;
  const auto ahead = static_cast<double>(static_cast<std::int64_t>(best.answered_ns - best.sent_ns));
  return clock_offset{ahead - half, half};
}

clock_offset midway(const clock_offset& before, const clock_offset& after) {
  return {(before.offset_ns + after.offset_ns) / 2,
          std::max(before.error_ns, after.error_ns) + std::abs(before.offset_ns - after.offset_ns) / 2};
}

phase_spans spans_of(std::span<const std::vector<std::uint64_t>> stamps, std::size_t first, std::size_t stride,
                     double node_us, std::span<const double> ahead_ns) {
  constexpr double ns_per_us = 1000;
  const auto base = stamps.front().front();
  const auto at = [&](std::size_t rank, std::size_t place) {
    const auto since = static_cast<double>(static_cast<std::int64_t>(stamps[rank][place] - base));
    return (since - (ahead_ns.empty() ? 0.0 : ahead_ns[rank])) / ns_per_us;
  };
  phase_spans result;
  for (auto place = first; place + 1 < stamps.front().size(); place += stride) {
    double kernel = 0;
    double first_in = at(0, place);
    double last_in = first_in;
    double last_out = at(0, place + 1);
    for (std::size_t rank = 0; rank < stamps.size(); ++rank) {
      const auto in = at(rank, place);
      const auto out = at(rank, place + 1);
      kernel = rank == 0 ? out - in : std::max(kernel, out - in);
      first_in = std::min(first_in, in);
      last_in = std::max(last_in, in);
      last_out = std::max(last_out, out);
    }
    result.kernel_us.push_back(kernel - node_us);
    if (ahead_ns.empty()) continue;
    result.e2e_us.push_back(last_out - first_in - node_us);
    result.skew_us.push_back(last_in - first_in);
    result.settled_us.push_back(last_out - last_in - node_us);
  }
  return result;
}

std::size_t copies_past_cache(std::size_t set_bytes, std::size_t cache_bytes, std::size_t steps) {
  const auto between = set_bytes == 0 ? steps : (2 * cache_bytes + set_bytes - 1) / set_bytes;
  return std::clamp<std::size_t>(between + 1, 1, std::max<std::size_t>(steps, 1));
}

double as_fine_as_clock_us(double time_us, double timer_tick_ns) {
  constexpr double coarse_ns = 100;
  const double unit_us = (timer_tick_ns > coarse_ns ? timer_tick_ns : 1.0) / 1000;
  return std::round(time_us / unit_us) * unit_us;
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
