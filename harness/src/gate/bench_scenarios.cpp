// SPDX-License-Identifier: Apache-2.0
#include "bench_scenarios.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

namespace switchyard::harness::gate {

namespace {

/// Of a member of a shape.
std::string text_of_value(const nlohmann::json& value) {
  if (value.is_null()) return "none";
  return value.is_string() ? value.get<std::string>() : std::to_string(value.get<std::int64_t>());
}

}  // namespace

std::string bench_scenario_id(const nlohmann::json& options, const std::string& phase, const nlohmann::json& point) {
  const auto transport = point.at("transport").get<std::string>();
  std::map<std::string, std::string> keys;
  const auto keep_number = [&](const char* key) { keys[key] = std::to_string(options.at(key).get<std::uint64_t>()); };
  const auto keep_word = [&](const char* key) { keys[key] = options.at(key).get<std::string>(); };
  if (options.at("host_jitter_us").get<std::int64_t>() != 0) keep_number("host_jitter_us");
  if (transport == "auto") {  // of the others it says nothing
    keep_word("lamport");
    keep_number("lamport_max_tokens");
  }
  for (const auto* key : {"ranks", "seed", "steps"}) keep_number(key);
  keep_word("routing");
  keys["phase"] = phase;
  keys["tokens"] = std::to_string(point.at("tokens").get<std::int64_t>());
  keys["transport"] = transport;
  // Benches before schema 6 were of a profile as it is.
  if (const auto named = options.find("named_keys"); named != options.end()) {
    for (const auto& key : *named) {
      const auto word = key.get<std::string>();
      keys[word] = text_of_value(point.at("shape").at(word));
    }
  }
  auto id = "bench/" + options.at("profile").get<std::string>();
  char before = '@';
  for (const auto& [key, value] : keys) {
    id += before + key + '=' + value;
    before = ',';
  }
  return id;
}

}  // namespace switchyard::harness::gate
