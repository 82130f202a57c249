// SPDX-License-Identifier: Apache-2.0
// Plain structs travel as their bytes: both sides are of one build.
#include "outcome_message.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

namespace switchyard::harness {
namespace {

template <typename Plain>
nlohmann::json bytes_of(const Plain& value) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  std::vector<std::uint8_t> bytes(sizeof(Plain));
  std::memcpy(bytes.data(), &value, sizeof(Plain));
  return nlohmann::json::binary(std::move(bytes));
}

template <typename Plain>
void read_bytes(const nlohmann::json& message, Plain& into) {
  const auto& bytes = message.get_binary();
  if (bytes.size() != sizeof(Plain)) throw std::runtime_error("an outcome is of another build");
  std::memcpy(&into, bytes.data(), sizeof(Plain));
}

template <typename Plain>
nlohmann::json bytes_of_all(const std::vector<Plain>& values) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  std::vector<std::uint8_t> bytes(values.size() * sizeof(Plain));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return nlohmann::json::binary(std::move(bytes));
}

template <typename Plain>
std::vector<Plain> read_all(const nlohmann::json& message) {
  const auto& bytes = message.get_binary();
  if (bytes.size() % sizeof(Plain) != 0) throw std::runtime_error("an outcome is of another build");
  std::vector<Plain> values(bytes.size() / sizeof(Plain));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

nlohmann::json finding_message(const finding& found) {
  return {{"verdict", static_cast<int>(found.verdict)},
          {"step", found.step},
          {"source", found.source},
          {"destination", found.destination},
          {"token", found.token},
          {"row", found.row},
          {"buffer", found.buffer},
          {"byte", found.byte},
          {"expected", found.expected},
          {"actual", found.actual},
          {"count", found.count},
          {"detail", found.detail}};
}

finding read_finding(const nlohmann::json& message) {
  finding found;
  found.verdict = static_cast<verdict>(message.at("verdict").get<int>());
  message.at("step").get_to(found.step);
  message.at("source").get_to(found.source);
  message.at("destination").get_to(found.destination);
  message.at("token").get_to(found.token);
  message.at("row").get_to(found.row);
  message.at("buffer").get_to(found.buffer);
  message.at("byte").get_to(found.byte);
  message.at("expected").get_to(found.expected);
  message.at("actual").get_to(found.actual);
  message.at("count").get_to(found.count);
  message.at("detail").get_to(found.detail);
  return found;
}

}  // namespace

nlohmann::json outcome_json(const rank_outcome& outcome) {
  nlohmann::json message;
  auto& findings = message["findings"] = nlohmann::json::array();
  for (const auto& found : outcome.log.kept()) findings.push_back(finding_message(found));
  message["total_findings"] = outcome.log.total();
  message["fault"] = outcome.fault ? bytes_of(*outcome.fault) : nlohmann::json();
  message["steps_before_fault"] =
      outcome.steps_before_fault ? nlohmann::json(*outcome.steps_before_fault) : nlohmann::json();
  message["arrivals_ns"] = outcome.arrivals_ns;
  message["error"] = outcome.error;
  message["unsupported"] = outcome.unsupported;
  message["times"] = bytes_of_all(outcome.times);
  message["steps_ended"] = outcome.steps_ended;
  message["refused_steps"] = outcome.refused_steps;
  message["checked_bytes"] = outcome.checked_bytes;
  message["results_digest"] = outcome.results_digest;
  message["low_precision_error"] = bytes_of(outcome.low_precision_error);
  message["transport"] = outcome.transport;
  message["position"] = outcome.position.load(std::memory_order_relaxed);
  return message;
}

void read_outcome(const nlohmann::json& message, rank_outcome& into) {
  for (const auto& found : message.at("findings")) into.log.add(read_finding(found));
  into.log.count_only(message.at("total_findings").get<std::uint64_t>() - into.log.total());
  if (const auto& fault = message.at("fault"); !fault.is_null()) read_bytes(fault, into.fault.emplace());
  if (const auto& steps = message.at("steps_before_fault"); !steps.is_null()) {
    into.steps_before_fault = steps.get<int>();
  }
  message.at("arrivals_ns").get_to(into.arrivals_ns);
  message.at("error").get_to(into.error);
  message.at("unsupported").get_to(into.unsupported);
  auto times = read_all<step_time>(message.at("times"));
  if (times.size() != into.times.size()) throw std::runtime_error("an outcome is of another number of steps");
  into.times = std::move(times);
  message.at("steps_ended").get_to(into.steps_ended);
  message.at("refused_steps").get_to(into.refused_steps);
  message.at("checked_bytes").get_to(into.checked_bytes);
  message.at("results_digest").get_to(into.results_digest);
  read_bytes(message.at("low_precision_error"), into.low_precision_error);
  message.at("transport").get_to(into.transport);
  into.position.store(message.at("position").get<int>(), std::memory_order_relaxed);
}

nlohmann::json traffic_json(const std::vector<step_traffic>& traffic) { return bytes_of_all(traffic); }

std::vector<step_traffic> read_traffic(const nlohmann::json& message) { return read_all<step_traffic>(message); }

}  // namespace switchyard::harness
