// SPDX-License-Identifier: Apache-2.0
// Yardsticks as JSON lines, and back: they are measured in another process.
#include <array>
#include <nlohmann/json.hpp>

#include "../bench_text.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

constexpr auto library_word = "bench_nccl_library";
constexpr auto measurement_word = "bench_nccl";

json samples_json(const std::vector<std::vector<double>>& of_ranks) {
  json result = json::array();
  for (const auto& samples : of_ranks) {
    json list = json::array();
    for (const double one : samples) list.push_back(rounded_us(one));
    result.push_back(list);
  }
  return result;
}

template <class Enum, std::size_t count>
Enum named(const std::string& word, const std::array<Enum, count>& all) {
  for (const auto one : all) {
    if (to_string(one) == word) return one;
  }
  throw nlohmann::json::other_error::create(501, "unknown word " + word, nullptr);
}

bool is_record(const nlohmann::json& record, const char* word) {
  return record.is_object() && record.value("record", nlohmann::json()) == word;
}

json best_json(const std::optional<nccl_best>& best) {
  if (!best) return {};
  return {{"time_us", rounded_us(best->time_us)},
          {"memory", to_string(best->variant.memory)},
          {"graph_mixing", best->variant.graph_mixing}};
}

json figures_json(const nccl_figures& figures) {
  return {{"dispatch", best_json(figures.dispatch)},
          {"round_trip", best_json(figures.round_trip)},
          {"failed", figures.failed}};
}

}  // namespace

json to_json(const nccl_library& library) {
  json result;
  result["record"] = library_word;
  result["version"] = library.version.empty() ? json() : json(library.version);
  result["why_not"] = library.why_not.empty() ? json() : json(library.why_not);
  result["environment"] = library.environment;
  return result;
}

json to_json(const nccl_measurement& one) {
  json result;
  result["record"] = measurement_word;
  result["tokens"] = one.tokens;
  result["shape"] = to_json(one.shape);
  result["scheme"] = to_string(one.scheme);
  result["memory"] = to_string(one.variant.memory);
  result["graph_mixing"] = one.variant.graph_mixing;
  result["failure"] = one.failure.empty() ? json() : json(one.failure);
  result["dispatch_us_of_ranks"] = samples_json(one.dispatch_us);
  result["round_trip_us_of_ranks"] = samples_json(one.round_trip_us);
  return result;
}

std::optional<nccl_library> nccl_library_from(const nlohmann::json& record) {
  if (!is_record(record, library_word)) return std::nullopt;
  const auto text = [&](const char* key) {
    return record.at(key).is_null() ? std::string() : record.at(key).get<std::string>();
  };
  try {
    return nccl_library{text("version"), text("why_not"), record.at("environment").get<std::vector<std::string>>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

std::optional<nccl_measurement> nccl_measurement_from(const nlohmann::json& record) {
  if (!is_record(record, measurement_word)) return std::nullopt;
  try {
    nccl_measurement result;
    result.tokens = record.at("tokens").get<std::int64_t>();
    result.shape = bench_shape_from(record.at("shape"));
    result.scheme =
        named(record.at("scheme").get<std::string>(), std::array{nccl_scheme::all_gather, nccl_scheme::send_receive});
    result.variant.memory =
        named(record.at("memory").get<std::string>(),
              std::array{nccl_memory::plain, nccl_memory::registered, nccl_memory::symmetric_window});
    result.variant.graph_mixing = record.at("graph_mixing").get<int>();
    if (!record.at("failure").is_null()) result.failure = record.at("failure").get<std::string>();
    result.dispatch_us = record.at("dispatch_us_of_ranks").get<std::vector<std::vector<double>>>();
    result.round_trip_us = record.at("round_trip_us_of_ranks").get<std::vector<std::vector<double>>>();
    return result;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

json nccl_best_json(const std::vector<nccl_measurement>& measured, const bench_shape& shape, std::int64_t tokens) {
  json result;
  result["record"] = "bench_nccl_best";
  result["tokens"] = tokens;
  result["shape"] = to_json(shape);
  for (const auto scheme : {nccl_scheme::all_gather, nccl_scheme::send_receive}) {
    result[std::string(to_string(scheme))] = figures_json(figures_of(measured, scheme, shape, tokens));
  }
  return result;
}

}  // namespace switchyard::harness
