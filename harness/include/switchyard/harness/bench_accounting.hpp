// SPDX-License-Identifier: Apache-2.0
// What measured times mean: bytes that had to cross, floors, rates, order statistics. Arithmetic only, no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/low_precision.hpp"

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
  std::optional<double> p10;  ///< from as many values on as p90
  std::optional<double> p50;
  std::optional<double> p90;
  std::optional<double> p99;  ///< from 299 values on: fewer hold none above it with a chance of 5 %
};
order_statistics order_statistics_of(std::vector<double> values);
/// The mean of the two in the middle when they are even in number. Precondition: not empty.
double median_of(std::vector<double> values);

/// Which of `count` things is measured first, second ... in a round: one after the other in even rounds, backwards in
/// odd ones (A B B A), so that what drifts evenly falls on all alike.
std::vector<std::size_t> turns_of_round(std::size_t count, int round);

/// max over ranks, place by place. Precondition: not empty, equal lengths.
std::vector<double> max_over_ranks(std::span<const std::vector<double>> of_ranks);

/// Bytes of one phase, by the golden routing, of the rank that has the most of each.
struct phase_bytes {
  std::uint64_t remote_bytes = 0;     ///< max of sent and received: one payload row per (token, distinct other rank)
  std::uint64_t local_bytes = 0;      ///< one per token that has experts on its own rank: crosses nothing
  std::uint64_t unique_bytes = 0;     ///< one per (token, distinct rank), self included
  std::uint64_t selection_bytes = 0;  ///< one per (token, k) with a valid expert, self included
  std::uint64_t meta_bytes = 0;       ///< ids and weights of the remote rows; headers and flags are not in it
  std::optional<std::uint64_t> wire_bytes;  ///< what the library says it moves; null: it does not say
};
/// Rows of `row_bytes` and, with each, `meta_row_bytes`.
phase_bytes phase_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing,
                           std::size_t row_bytes, std::size_t meta_row_bytes);

/// Of a dispatch with weights: rows of hidden states and, where the format sends some, their scales; ids and weights go
/// with each.
phase_bytes dispatch_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing);
/// Of a combine: rows of the shape's dtype, or as low precision has them.
phase_bytes combine_bytes_of(const reference::step_shape& shape, std::span<const reference::rank_routing> routing,
                             low_precision combine);

/// One exchange of flags: this rank's clock when it sent, the peer's when it saw that and answered, this rank's when it
/// saw the answer; nanoseconds.
struct clock_exchange {
  std::uint64_t sent_ns = 0;
  std::uint64_t answered_ns = 0;
  std::uint64_t returned_ns = 0;
};
/// How far the peer's clock is ahead, and how wrong that may be.
struct clock_offset {
  double offset_ns = 0;
  double error_ns = 0;
};
/// From the quickest exchange: the answer came some time within it. Null without any.
std::optional<clock_offset> offset_of(std::span<const clock_exchange> exchanges);
/// In the middle between two times: clocks drift evenly, and half the drift is an error too.
clock_offset midway(const clock_offset& before, const clock_offset& after);

/// Times of one phase of every step, from clocks read before and after it on every rank.
struct phase_spans {
  std::vector<double> kernel_us;  ///< out minus in, the slowest rank: waits for late peers are in it
  // The rest compares clocks of different GPUs; empty without their offsets.
  std::vector<double> e2e_us;      ///< last rank out minus first rank in
  std::vector<double> skew_us;     ///< last rank in minus first rank in
  std::vector<double> settled_us;  ///< last rank out minus last rank in: what the phase takes once everyone is there
};
/// stamps[rank][i]: clock kernels at the ends of phases, one chain per rank; the phase lies between places first + i *
/// stride and the next. `node_us`: what such a kernel takes itself. `ahead_ns[rank]`: how far that clock is ahead of
/// rank 0's; empty: not known. Precondition: equal lengths.
phase_spans spans_of(std::span<const std::vector<std::uint64_t>> stamps, std::size_t first, std::size_t stride,
                     double node_us, std::span<const double> ahead_ns);

/// How many copies of `set_bytes` it takes for twice `cache_bytes` to pass between two uses of one, at most `steps`: a
/// launch begins with an empty cache, so more than its steps are never needed. At least 1.
std::size_t copies_past_cache(std::size_t set_bytes, std::size_t cache_bytes, std::size_t steps);

/// Nothing finer than a coarse clock is printed: a time in units of its tick when that is above 100 ns, else of 1 ns.
double as_fine_as_clock_us(double time_us, double timer_tick_ns);

/// The least time of a phase: an empty node, a flag, and the bytes both ways at once.
double floor_us(const link_yardstick& link, std::uint64_t remote_bytes);
/// bytes / time; null for zero bytes, never 0/0.
std::optional<double> rate_gb_s(std::uint64_t bytes, double time_us);
/// rate / what the link pushes both ways; null as rate_gb_s.
std::optional<double> of_link(const link_yardstick& link, std::uint64_t bytes, double time_us);

}  // namespace switchyard::harness
