// SPDX-License-Identifier: Apache-2.0
#include "bench_scenarios.hpp"

#include <nlohmann/json.hpp>

namespace switchyard::harness::gate {

std::string bench_scenario_id(const nlohmann::json& options, const std::string& phase, std::int64_t tokens,
                              const std::string& transport) {
  std::string id = "bench/" + options.at("profile").get<std::string>() + '@';
  const auto jitter = options.at("host_jitter_us").get<std::int64_t>();
  if (jitter != 0) id += "host_jitter_us=" + std::to_string(jitter) + ',';
  if (transport == "auto") {  // of the others it says nothing
    id += "lamport=" + options.at("lamport").get<std::string>() +
          ",lamport_max_tokens=" + std::to_string(options.at("lamport_max_tokens").get<std::int64_t>()) + ',';
  }
  id += "phase=" + phase + ",ranks=" + std::to_string(options.at("ranks").get<std::int64_t>()) +
        ",routing=" + options.at("routing").get<std::string>() +
        ",seed=" + std::to_string(options.at("seed").get<std::uint64_t>()) +
        ",steps=" + std::to_string(options.at("steps").get<std::int64_t>()) + ",tokens=" + std::to_string(tokens) +
        ",transport=" + transport;
  return id;
}

}  // namespace switchyard::harness::gate
