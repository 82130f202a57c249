// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/gate/sample_lines.hpp"

#include <nlohmann/json.hpp>

#include "bench_scenarios.hpp"
#include "gate_text.hpp"
#include "switchyard/harness/gate/sample_set.hpp"

namespace switchyard::harness::gate {

nlohmann::ordered_json samples_header_json(const nlohmann::json& bench_header, int launches,
                                           const std::string& started) {
  nlohmann::ordered_json header;
  header["record"] = "samples_header";
  header["schema"] = samples_schema;
  header["started"] = started;
  header["env"] = bench_header.at("env");
  header["testbed"] = to_json(testbed_of_bench(bench_header));
  header["launches"] = launches;
  header["bench"] = bench_header;
  return header;
}

nlohmann::ordered_json to_json(const sample_line& sample) {
  return {{"record", "sample"},
          {"scenario", sample.scenario},
          {"launch", sample.launch},
          {"time_us", sample.time_us},
          {"marked", sample.marked}};
}

nlohmann::ordered_json launch_failed_json(int launch, const std::string& why) {
  return {{"record", "launch_failed"}, {"launch", launch}, {"why", why}};
}

nlohmann::ordered_json noise_json(const std::string& scenario, std::size_t launches, const aa_noise& noise) {
  return {{"record", "noise"},
          {"scenario", scenario},
          {"launches", launches},
          {"median_us", noise.median_us},
          {"shift_us", noise.shift_us},
          {"splits_us", noise.splits_us},
          {"interval_us", noise.interval_us},
          {"noise_us", noise.noise_us},
          {"noise_percent", whole * noise.noise_us / noise.median_us}};
}

nlohmann::ordered_json samples_end_json(std::size_t samples, std::size_t failed_launches) {
  return {{"record", "samples_end"}, {"samples", samples}, {"failed_launches", failed_launches}};
}

std::vector<sample_line> samples_in(const nlohmann::json& bench_line, const nlohmann::json& options, int launch) {
  std::vector<sample_line> samples;
  try {
    if (bench_line.at("record") != "bench_point") return samples;
    const auto& round_trip = bench_line.at("round_trip");
    const auto marks = round_trip.find("marked_launches");
    const std::size_t marked = marks != round_trip.end() && marks->is_array() ? marks->size() : 0;
    for (const auto* phase : bench_phases) {
      const double time = bench_line.at(phase).at("time_us").get<double>();
      samples.push_back({bench_scenario_id(options, phase, bench_line), launch, time, marked});
    }
    return samples;
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace switchyard::harness::gate
