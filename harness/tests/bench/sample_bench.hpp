// SPDX-License-Identifier: Apache-2.0
// Points, links and machines made by hand, for tests of what is written of them.
#pragma once

#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {

inline link_yardstick sample_link() {
  link_yardstick link;
  link.push_one_way_gb_s = 410;
  link.push_both_ways_gb_s = 400;
  link.pull_one_way_gb_s = 405;
  link.pull_both_ways_gb_s = 380;
  link.flag_latency_us = 0.5;
  link.ordered_flag_latency_us = 0.75;
  link.empty_node_us = 1.0;
  link.stamp_node_us = 1.25;
  link.timer_tick_ns = 32;
  return link;
}

inline bench_options sample_options() {
  bench_options options;
  options.profile = "deepseek_v3";
  options.arguments = {"bench", "--ranks", "2"};
  options.params.num_experts = 256;
  options.params.top_k = 8;
  options.params.hidden_size = 7168;
  options.params.max_tokens_per_rank = 16;
  options.tokens = {16};
  return options;
}

/// Another shape.
inline bench_shape sample_grid_shape() {
  auto shape = shape_of(sample_options().params, low_precision::fp8);
  shape.dispatch_format = dispatch_format::mxfp8;
  return shape;
}

inline bench_shape sample_shape() { return shape_of(sample_options().params, low_precision::none); }

/// A GPU that nothing has happened to.
inline device_state quiet_state() {
  device_state state;
  state.sm_clock_mhz = 1980;
  state.memory_clock_mhz = 3201;
  state.throttle_reasons = 0;
  state.temperature_c = 33;
  state.ecc_corrected = 0;
  state.ecc_uncorrected = 0;
  state.nvlink_errors = 0;
  state.nvlink_data_tx_kib = 1000;
  return state;
}

/// Three launches, three steps a phase; nothing that needs clocks compared or states read.
inline bench_point sample_point(std::uint64_t remote_bytes) {
  bench_point point;
  point.tokens = 16;
  point.shape = sample_shape();
  point.round_trip_us = {{10, 12, 11}, {13, 9, 11}};
  point.cold_us = {{20, 22, 21}, {23, 19, 21}};
  point.eager_us = {{30, 32, 31}, {33, 29, 31}};
  point.dispatch.bytes = {remote_bytes, 100, remote_bytes + 100, 2 * remote_bytes, 64, {}};
  point.dispatch.spans.kernel_us = {4, 5, 6};
  point.dispatch.stream_us = {7, 8, 9};
  point.combine.bytes = {remote_bytes, 100, remote_bytes + 100, 2 * remote_bytes, 0, {}};
  point.combine.spans.kernel_us = {6, 7, 8};
  point.combine.stream_us = {9, 9, 10};
  return point;
}

/// One of a variant, of as many launches as shifts need: so much more than the usual in each.
inline bench_point sample_varied_point(bench_variant variant, double more_us) {
  auto point = sample_point(400'000);
  point.variant = variant;
  point.round_trip_us = {{10, 10, 10.1, 10.1, 10.1, 10.1, 10.2, 10.2}};
  for (auto& sample : point.round_trip_us.front()) sample += more_us;
  return point;
}

/// The same with everything that can be measured.
inline bench_point sample_full_point(std::uint64_t remote_bytes) {
  auto point = sample_point(remote_bytes);
  for (auto* phase : {&point.dispatch, &point.combine}) {
    phase->bytes.wire_bytes = remote_bytes + 128;
    phase->spans.e2e_us = {8, 9, 10};
    phase->spans.skew_us = {1, 2, 3};
    phase->spans.settled_us = {5, 5, 5};
  }
  point.clock_error_us = 0.75;
  auto state = quiet_state();
  state.nvlink_data_rx_kib = 1000;
  state.nvlink_raw_tx_kib = 1100;
  state.nvlink_raw_rx_kib = 1100;
  point.before = {state, {}};
  state.nvlink_data_tx_kib = 1100;
  point.after = {state, {}};
  point.steps_between = 100;
  point.marked = std::vector<marked_launch>{{2, 1, "sm_clock_mhz from 1980 to 1700"}};
  return point;
}

inline bench_machine sample_machine() {
  return {{{"a GPU", 0, "GPU", "GPU-01", 18, 26562}, {"a GPU", {}, "GPU", "GPU-02", 18, 26562}},
          "580.1",
          {},
          "0-31",
          "0",
          "13.0",
          "13.1"};
}

inline nccl_measurement sample_nccl(nccl_memory memory, int graph_mixing, double dispatch_us, double round_trip_us) {
  return {16,
          nccl_scheme::all_gather,
          {memory, graph_mixing},
          {},
          {{dispatch_us, dispatch_us - 1}, {1, dispatch_us}},
          {{round_trip_us, 2}, {1, round_trip_us}},
          sample_shape()};
}

inline nccl_measurement sample_failed_nccl(nccl_memory memory) {
  return {16, nccl_scheme::all_gather, {memory, 0}, "sums of rank 1 are wrong in 3 places", {}, {}, sample_shape()};
}

}  // namespace switchyard::harness
