// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_record.hpp"

#include <nlohmann/json.hpp>

#include "bench_text.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

json or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

json rounded_samples(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(rounded_us(value));
  return list;
}

json statistics_json(const std::vector<double>& values) {
  const auto of = order_statistics_of(values);
  json result;
  result["count"] = of.count;
  result["p50_us"] = of.p50 ? json(rounded_us(*of.p50)) : json("insufficient");
  result["p90_us"] = of.p90 ? json(rounded_us(*of.p90)) : json("insufficient");
  result["p99_us"] = of.p99 ? json(rounded_us(*of.p99)) : json("insufficient");
  return result;
}

json phase_json(const phase_times& phase, double time_us, const link_yardstick& link) {
  json result;
  result["method"] = "clock kernels between the phases, less one such node";
  result["remote_bytes"] = phase.remote_bytes;
  result["time_us"] = rounded_us(time_us);
  result["floor_us"] = rounded_us(floor_us(link, phase.remote_bytes));
  result["of_floor"] = time_us / floor_us(link, phase.remote_bytes);
  result["wire_bw_gb_s"] = or_null(rate_gb_s(phase.remote_bytes, time_us));
  result["of_link"] = or_null(of_link(link, phase.remote_bytes, time_us));
  result["steps"] = statistics_json(phase.raw_us);
  result["raw_us"] = rounded_samples(phase.raw_us);
  return result;
}

}  // namespace

bench_figures figures_of(const bench_point& point, const link_yardstick& link) {
  bench_figures result;
  result.round_trip_us = median_of(max_over_ranks(point.round_trip_us));
  result.dispatch_floor_us = floor_us(link, point.dispatch.remote_bytes);
  result.combine_floor_us = floor_us(link, point.combine.remote_bytes);
  result.round_trip_floor_us = result.dispatch_floor_us + result.combine_floor_us;
  result.round_trip_of_floor = result.round_trip_us / result.round_trip_floor_us;
  result.dispatch_us = median_of(point.dispatch.raw_us);
  result.combine_us = median_of(point.combine.raw_us);
  const auto bytes = point.dispatch.remote_bytes + point.combine.remote_bytes;
  result.wire_bw_gb_s = rate_gb_s(bytes, result.round_trip_us);
  result.of_link = of_link(link, bytes, result.round_trip_us);
  return result;
}

json bench_header_json(const environment& where, const std::vector<std::string>& devices, const bench_options& options,
                       const std::string& started) {
  json header;
  header["record"] = "bench_header";
  header["schema"] = bench_schema;
  header["started"] = started;
  header["env"] = to_json(where);
  header["devices"] = devices;
  header["options"] = {{"profile", options.profile},
                       {"ranks", options.ranks},
                       {"hidden_size", options.params.hidden_size},
                       {"top_k", options.params.top_k},
                       {"num_experts", options.params.num_experts},
                       {"dtype", std::string(to_string(options.params.dtype))},
                       {"dispatch_bytes_per_token", options.params.dispatch_bytes_per_token()},
                       {"routing", "uniform"},
                       {"tokens", options.tokens},
                       {"launches", options.launches},
                       {"steps", options.steps},
                       {"stamped_launches", options.stamped_launches},
                       {"seed", options.seed}};
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

json to_json(const bench_point& point, const link_yardstick& link) {
  const auto figures = figures_of(point, link);
  json result;
  result["record"] = "bench_point";
  result["tokens"] = point.tokens;
  result["checked_rows"] = point.checked_rows;
  result["checked"] = point.checked_what;
  json trip;
  trip["method"] = "median over launches of graph time / steps, max over ranks, warm fixed buffers, zero-copy combine";
  trip["time_us"] = rounded_us(figures.round_trip_us);
  trip["floor_us"] = rounded_us(figures.round_trip_floor_us);
  trip["of_floor"] = figures.round_trip_of_floor;
  trip["wire_bw_gb_s"] = or_null(figures.wire_bw_gb_s);
  trip["of_link"] = or_null(figures.of_link);
  trip["launches"] = statistics_json(max_over_ranks(point.round_trip_us));
  for (const auto& rank : point.round_trip_us) trip["raw_us_of_ranks"].push_back(rounded_samples(rank));
  result["round_trip"] = trip;
  result["dispatch"] = phase_json(point.dispatch, figures.dispatch_us, link);
  result["combine"] = phase_json(point.combine, figures.combine_us, link);
  return result;
}

std::string bench_table(const std::vector<bench_point>& points, const link_yardstick& link) {
  std::string table =
      "| tokens | round trip us | of floor | p90 us | wire GB/s | of link | dispatch us | of floor | combine us | of "
      "floor |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& point : points) {
    const auto figures = figures_of(point, link);
    const auto launches = order_statistics_of(max_over_ranks(point.round_trip_us));
    table += "| " + std::to_string(point.tokens) + " | " + text_of("%.2f", figures.round_trip_us) + " | " +
             text_of("%.2f", figures.round_trip_of_floor) + " | " + text_or_null("%.2f", launches.p90) + " | " +
             text_or_null("%.1f", figures.wire_bw_gb_s) + " | " + text_or_null("%.3f", figures.of_link) + " | " +
             text_of("%.2f", figures.dispatch_us) + " | " +
             text_of("%.2f", figures.dispatch_us / figures.dispatch_floor_us) + " | " +
             text_of("%.2f", figures.combine_us) + " | " +
             text_of("%.2f", figures.combine_us / figures.combine_floor_us) + " |\n";
  }
  return table;
}

}  // namespace switchyard::harness
