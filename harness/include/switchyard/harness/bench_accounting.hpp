// SPDX-License-Identifier: Apache-2.0
// What measured times mean: bytes that had to cross, floors, rates, order statistics. Arithmetic only, no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {

/// The link as it is in this run: what floors and shares are made of. One GB is 10^9 bytes.
struct link_yardstick {
  double push_one_way_gb_s = 0;
  double push_both_ways_gb_s = 0;  ///< each way, while the other way is as busy
  double pull_one_way_gb_s = 0;
  double pull_both_ways_gb_s = 0;
  double flag_latency_us = 0;          ///< one way, relaxed
  double ordered_flag_latency_us = 0;  ///< one way, release and acquire
  double empty_node_us = 0;            ///< an empty kernel in a chain of them in a graph
  double stamp_node_us = 0;            ///< the same for the kernel that reads the clock; see phase_times
  double timer_tick_ns = 0;
};

/// Order statistics of measured values; null where there are too few to say.
struct order_statistics {
  std::size_t count = 0;
  std::optional<double> p50;
  std::optional<double> p90;
  std::optional<double> p99;  ///< from 299 values on: fewer hold none above it with a chance of 5 %
};
order_statistics order_statistics_of(std::vector<double> values);
/// The mean of the two in the middle when they are even in number. Precondition: not empty.
double median_of(std::vector<double> values);

/// max over ranks, place by place. Precondition: not empty, equal lengths.
std::vector<double> max_over_ranks(std::span<const std::vector<double>> of_ranks);

/// Bytes that a phase must move between ranks, by the golden routing: max over ranks of max(sent, received), one row of
/// `row_bytes` per (token, distinct other rank).
std::uint64_t remote_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing,
                              std::size_t row_bytes);

/// The least time of a phase: an empty node, a flag, and the bytes both ways at once.
double floor_us(const link_yardstick& link, std::uint64_t remote_bytes);
/// bytes / time; null for zero bytes, never 0/0.
std::optional<double> rate_gb_s(std::uint64_t bytes, double time_us);
/// rate / what the link pushes both ways; null as rate_gb_s.
std::optional<double> of_link(const link_yardstick& link, std::uint64_t bytes, double time_us);

}  // namespace switchyard::harness
