// SPDX-License-Identifier: Apache-2.0
// A point as a JSON line.
#include <nlohmann/json.hpp>

#include "bench_text.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

json or_insufficient(const std::optional<double>& value, double tick_ns) {
  return value ? json(rounded_us(as_fine_as_clock_us(*value, tick_ns))) : json("insufficient");
}

json rounded_samples(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(rounded_us(value));
  return list;
}

json statistics_json(const std::vector<double>& values, double tick_ns) {
  const auto of = order_statistics_of(values);
  return {{"count", of.count},
          {"p50_us", or_insufficient(of.p50, tick_ns)},
          {"p90_us", or_insufficient(of.p90, tick_ns)},
          {"p99_us", or_insufficient(of.p99, tick_ns)}};
}

/// Percentiles and the samples they were made of; null without samples.
json column_json(const std::vector<double>& values, double tick_ns) {
  if (values.empty()) return {};
  auto result = statistics_json(values, tick_ns);
  result["raw_us"] = rounded_samples(values);
  return result;
}

constexpr double event_tick_ns = 0;  // events tell half a microsecond, and graph times are a 40th of one

json launches_json(const launch_samples& samples, const char* method) {
  const auto slowest = max_over_ranks(samples);
  json result;
  result["method"] = method;
  result["time_us"] = rounded_us(median_of(slowest));
  result["launches"] = statistics_json(slowest, event_tick_ns);
  result["raw_us_of_ranks"] = json::array();
  for (const auto& rank : samples) result["raw_us_of_ranks"].push_back(rounded_samples(rank));
  return result;
}

void add_rates(json& to, const phase_bytes& bytes, double time_us, const link_yardstick& link,
               const extra_rates& rates) {
  to["wire_bw_gb_s"] = or_null(rate_gb_s(bytes.remote_bytes, time_us));
  to["of_link"] = or_null(of_link(link, bytes.remote_bytes, time_us));
  if (rates.logical) to["logical_bw_gb_s"] = or_null(rate_gb_s(bytes.unique_bytes, time_us));
  if (rates.selection) to["selection_bw_gb_s"] = or_null(rate_gb_s(bytes.selection_bytes, time_us));
}

json phase_json(const phase_times& phase, double time_us, const link_yardstick& link, const extra_rates& rates) {
  const auto& bytes = phase.bytes;
  json result;
  result["remote_bytes"] = bytes.remote_bytes;
  result["local_bytes"] = bytes.local_bytes;
  result["unique_bytes"] = bytes.unique_bytes;
  result["selection_bytes"] = bytes.selection_bytes;
  result["meta_bytes"] = bytes.meta_bytes;
  result["wire_bytes"] = bytes.wire_bytes ? json(*bytes.wire_bytes) : json();
  result["method"] = "clock kernels between the phases, less one such node; stream_us: events round the phase, eager";
  result["time_us"] = rounded_us(time_us);
  result["floor_us"] = rounded_us(floor_us(link, bytes.remote_bytes));
  result["of_floor"] = time_us / floor_us(link, bytes.remote_bytes);
  add_rates(result, bytes, time_us, link, rates);
  result["kernel_us"] = column_json(phase.spans.kernel_us, link.timer_tick_ns);
  result["stream_us"] = column_json(phase.stream_us, event_tick_ns);
  result["e2e_us"] = column_json(phase.spans.e2e_us, link.timer_tick_ns);
  result["skew_us"] = column_json(phase.spans.skew_us, link.timer_tick_ns);
  result["settled_us"] = column_json(phase.spans.settled_us, link.timer_tick_ns);
  return result;
}

phase_bytes sum_of(const phase_bytes& a, const phase_bytes& b) {
  phase_bytes both;
  both.remote_bytes = a.remote_bytes + b.remote_bytes;
  both.unique_bytes = a.unique_bytes + b.unique_bytes;
  both.selection_bytes = a.selection_bytes + b.selection_bytes;
  return both;
}

json states_json(const std::vector<device_state>& states) {
  json list = json::array();
  for (const auto& one : states) list.push_back(to_json(one));
  return list;
}

json marks_json(const std::optional<std::vector<marked_launch>>& marks) {
  if (!marks) return {};
  json list = json::array();
  for (const auto& one : *marks) list.push_back({{"launch", one.launch}, {"rank", one.rank}, {"moved", one.moved}});
  return list;
}

json link_bytes_json(const bench_point& point) {
  json list = json::array();
  for (std::size_t rank = 0; rank < point.before.size(); ++rank) {
    list.push_back(or_null(link_bytes_per_step(point.before[rank], point.after.at(rank), point.steps_between)));
  }
  return list;
}

}  // namespace

json to_json(const bench_point& point, const link_yardstick& link, const extra_rates& rates) {
  const auto figures = figures_of(point, link);
  json result;
  result["record"] = "bench_point";
  result["tokens"] = point.tokens;
  result["shape"] = to_json(point.shape);
  result["transport"] = to_string(point.asked);
  result["taken"] = to_string(point.taken);
  result["taken_because"] = point.taken_because;
  result["checked_rows"] = point.checked_rows;
  result["checked"] = point.checked_what;
  auto trip = launches_json(point.round_trip_us,
                            "median over launches of graph time / steps, max over ranks, warm fixed buffers, zero-copy "
                            "combine");
  trip["floor_us"] = rounded_us(figures.round_trip_floor_us);
  trip["of_floor"] = figures.round_trip_of_floor;
  add_rates(trip, sum_of(point.dispatch.bytes, point.combine.bytes), figures.round_trip_us, link, rates);
  trip["marked_launches"] = marks_json(point.marked);
  trip["link_tx_bytes_per_step_of_ranks"] = link_bytes_json(point);
  trip["states_before"] = states_json(point.before);
  trip["states_after"] = states_json(point.after);
  result["round_trip"] = trip;
  result["cold"] = launches_json(point.cold_us,
                                 "as round_trip, inputs and outputs rotated and the second-level cache emptied before "
                                 "each launch; the workspace is as the steps leave it");
  result["eager"] =
      launches_json(point.eager_us, "as round_trip without a graph: a thread per rank enqueues steps while they run");
  result["clock_error_us"] = point.clock_error_us ? json(rounded_us(*point.clock_error_us)) : json();
  result["dispatch"] = phase_json(point.dispatch, figures.dispatch_us, link, rates);
  result["combine"] = phase_json(point.combine, figures.combine_us, link, rates);
  return result;
}

}  // namespace switchyard::harness
