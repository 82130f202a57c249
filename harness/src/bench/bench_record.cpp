// SPDX-License-Identifier: Apache-2.0
// The lines that are not points.
#include "switchyard/harness/bench_record.hpp"

#include <nlohmann/json.hpp>

#include "../record/recorded_variables.hpp"
#include "bench_text.hpp"
#include "switchyard/harness/gate/testbed.hpp"
#include "switchyard/harness/printable.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

json text_or_no_text(const std::string& text) { return text.empty() ? json() : json(text); }

template <class Value>
json value_or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

json machine_json(const bench_machine& machine) {
  json result;
  result["gpus"] = json::array();
  for (const auto& gpu : machine.gpus) {
    result["gpus"].push_back({{"description", gpu.description},
                              {"model", text_or_no_text(gpu.model)},
                              {"uuid", text_or_no_text(gpu.uuid)},
                              {"numa_node", value_or_null(gpu.numa_node)},
                              {"nvlinks_count", value_or_null(gpu.links)},
                              {"nvlink_mb_s", value_or_null(gpu.link_mb_s)}});
  }
  result["driver_version"] = text_or_no_text(machine.driver_version);
  result["cuda_runtime"] = text_or_no_text(machine.cuda_runtime);
  result["cuda_driver"] = text_or_no_text(machine.cuda_driver);
  result["states_not_read_because"] = text_or_no_text(machine.nvml_why_not);
  result["cpus_allowed"] = text_or_no_text(machine.cpus_allowed);
  result["memory_nodes_allowed"] = text_or_no_text(machine.memory_allowed);
  return result;
}

/// Each with what a token takes.
json shapes_json(const bench_options& options) {
  json list = json::array();
  for (const auto& one : options_of_shapes(options)) {
    const auto combine = one.low_precision_combine;
    const auto hidden_size = static_cast<std::size_t>(one.params.hidden_size);
    auto shape = to_json(shape_of(one.params, combine));
    shape["dispatch_bytes_per_token"] = one.params.dispatch_bytes_per_token();
    shape["combine_bytes_per_token"] = combine_bytes_of(combine, one.params.dtype, hidden_size);
    list.push_back(std::move(shape));
  }
  return list;
}

gate::testbed testbed_of(const environment& where, const bench_machine& machine) {
  gate::testbed bed;
  bed.gpus = static_cast<int>(machine.gpus.size());
  if (!machine.gpus.empty()) {
    const auto& gpu = machine.gpus.front();
    bed.gpu = gpu.model;
    if (gpu.links && gpu.link_mb_s)
      bed.links = std::to_string(*gpu.links) + " x " + std::to_string(*gpu.link_mb_s) + " MB/s";
  }
  bed.driver_branch = machine.driver_version.substr(0, machine.driver_version.find('.'));
  bed.cuda = machine.cuda_runtime;
  bed.machine = where.machine;
  return bed;
}

}  // namespace

bench_figures figures_of(const bench_point& point, const link_yardstick& link) {
  const auto headline = [](const launch_samples& samples) { return median_of(max_over_ranks(samples)); };
  bench_figures result;
  result.round_trip_us = headline(point.round_trip_us);
  result.cold_us = headline(point.cold_us);
  result.eager_us = headline(point.eager_us);
  const auto dispatch_bytes = point.dispatch.bytes.remote_bytes;
  const auto combine_bytes = point.combine.bytes.remote_bytes;
  result.dispatch_floor_us = floor_us(link, dispatch_bytes);
  result.combine_floor_us = floor_us(link, combine_bytes);
  result.round_trip_floor_us = result.dispatch_floor_us + result.combine_floor_us;
  result.round_trip_of_floor = result.round_trip_us / result.round_trip_floor_us;
  result.dispatch_us = median_of(point.dispatch.spans.kernel_us);
  result.combine_us = median_of(point.combine.spans.kernel_us);
  result.wire_bw_gb_s = rate_gb_s(dispatch_bytes + combine_bytes, result.round_trip_us);
  result.of_link = of_link(link, dispatch_bytes + combine_bytes, result.round_trip_us);
  return result;
}

json bench_header_json(const environment& where, const bench_machine& machine, const bench_options& options,
                       const std::string& started) {
  json header;
  header["record"] = "bench_header";
  header["schema"] = bench_schema;
  header["started"] = started;
  header["env"] = to_json(where);
  header["machine"] = machine_json(machine);
  header["testbed"] = to_json(testbed_of(where, machine));
  header["variables"] = variables_json();
  header["arguments"] = json::array();
  for (const auto& one : options.arguments) header["arguments"].push_back(printable(one));
  json transports = json::array();
  for (const auto which : options.transports) transports.push_back(to_string(which));
  json variants = json::array();
  for (const auto which : options.variants) variants.push_back(to_string(which));
  header["options"] = {{"profile", options.profile},
                       {"ranks", options.ranks},
                       {"shapes", shapes_json(options)},
                       {"named_keys", options.named_keys},
                       {"routing", std::string(to_string(options.routing))},
                       {"tokens", options.tokens},
                       {"launches", options.launches},
                       {"steps", options.steps},
                       {"stamped_launches", options.stamped_launches},
                       {"transports", std::move(transports)},
                       {"lamport", std::string(to_string(options.lamport))},
                       {"lamport_max_tokens", options.lamport_max_tokens},
                       {"host_jitter_us", options.host_jitter_us},
                       {"seed", options.seed}};
  if (!variants.empty()) header["options"]["variants"] = std::move(variants);
  return header;
}

json to_json(const link_yardstick& link) {
  json result;
  result["record"] = "bench_link";
  result["push_one_way_gb_s"] = link.push_one_way_gb_s;
  result["push_both_ways_gb_s"] = link.push_both_ways_gb_s;
  result["pull_one_way_gb_s"] = link.pull_one_way_gb_s;
  result["pull_both_ways_gb_s"] = link.pull_both_ways_gb_s;
  result["flag_latency_relaxed_us"] = rounded_us(link.flag_latency_us);
  result["flag_latency_ordered_us"] = rounded_us(link.ordered_flag_latency_us);
  result["empty_node_us"] = rounded_us(link.empty_node_us);
  result["stamp_node_us"] = rounded_us(link.stamp_node_us);
  result["timer_tick_ns"] = link.timer_tick_ns;
  return result;
}

json to_json(const device_state& state) {
  json result;
  result["sm_clock_mhz"] = value_or_null(state.sm_clock_mhz);
  result["memory_clock_mhz"] = value_or_null(state.memory_clock_mhz);
  result["throttle_reasons_bits"] = value_or_null(state.throttle_reasons);
  result["temperature_c"] = value_or_null(state.temperature_c);
  result["ecc_corrected_count"] = value_or_null(state.ecc_corrected);
  result["ecc_uncorrected_count"] = value_or_null(state.ecc_uncorrected);
  result["nvlink_errors_count"] = value_or_null(state.nvlink_errors);
  result["nvlink_data_tx_kib"] = value_or_null(state.nvlink_data_tx_kib);
  result["nvlink_data_rx_kib"] = value_or_null(state.nvlink_data_rx_kib);
  result["nvlink_raw_tx_kib"] = value_or_null(state.nvlink_raw_tx_kib);
  result["nvlink_raw_rx_kib"] = value_or_null(state.nvlink_raw_rx_kib);
  return result;
}

}  // namespace switchyard::harness
