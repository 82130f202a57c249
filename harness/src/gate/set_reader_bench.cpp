// SPDX-License-Identifier: Apache-2.0
// Files of a bench, of which each is a launch, and of a run, whose cases have statuses.
#include <algorithm>

#include "bench_scenarios.hpp"
#include "set_reader.hpp"
#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness::gate {
namespace {

/// Schemas of a bench that say what is needed here.
constexpr int least_bench_schema = 4;

/// The higher the worse: pass, waived, not run, and all that went wrong.
int badness_of(const std::string& status) {
  if (status.empty()) return -1;
  if (status == "pass") return 0;
  if (status == "waived") return 1;
  if (status == "skipped") return 2;
  return status == "missing" ? 3 : 4;
}

bool holds(const nlohmann::json& list, const nlohmann::json& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace

void set_reader::begin_bench(const json& header) {
  const auto schema = need_count(header, "schema");
  if (schema < least_bench_schema || schema > bench_schema) {
    refuse_line("schema must be " + std::to_string(least_bench_schema) + " to " + std::to_string(bench_schema));
  }
  take_build(need(header, "env"), testbed_of_bench(header));
  options_ = need(header, "options");
  // Before schema 6 there was one shape, the profile's.
  const auto shapes = options_.contains("shapes") ? need(options_, "shapes") : json::array({nullptr});
  // Whole, or it throws here.
  for (const auto& shape : shapes) {
    (void)bench_scenario_id(options_, "round_trip", {{"tokens", 1}, {"transport", "auto"}, {"shape", shape}});
  }
  due_ = need(options_, "tokens").size() * need(options_, "transports").size() * shapes.size();
  ++set_.launches;
}

void set_reader::read_point(const json& line) {
  const auto& record = need(line, "record");
  if (record == "bench_header") refuse_line("is a second header: a file holds one bench");
  if (record != "bench_point") return;  // link, yardsticks, what was made of points
  const auto tokens = static_cast<std::int64_t>(need_count(line, "tokens"));
  const auto transport = need_text(line, "transport");
  if (!holds(options_["tokens"], tokens) || !holds(options_["transports"], transport) || !announces_shape_of(line)) {
    refuse_line("tokens " + std::to_string(tokens) + " over " + transport + " is no point that the header announces");
  }
  const auto& marks = need(line, "round_trip").find("marked_launches");
  const bool marked = marks != line["round_trip"].end() && marks->is_array() && !marks->empty();
  for (const auto* phase : bench_phases) {
    add(bench_scenario_id(options_, phase, line), first_launch_, need_time(need(line, phase), "time_us"), marked);
  }
  samples_ -= bench_phases.size() - 1;  // counted are points
}

bool set_reader::announces_shape_of(const json& point) const {
  if (!options_.contains("shapes")) return true;
  // What a shape has beside is what follows from it.
  const auto says = [&](json announced, const json& shape) {
    for (const auto* key : {"dispatch_bytes_per_token", "combine_bytes_per_token"}) announced.erase(key);
    return announced == shape;
  };
  const auto& shape = need(point, "shape");
  return std::any_of(options_["shapes"].begin(), options_["shapes"].end(),
                     [&](const json& one) { return one.is_object() && says(one, shape); });
}

void set_reader::begin_run(const json& header) {
  if (need_count(header, "schema") != record_schema) refuse_line("schema must be " + std::to_string(record_schema));
  take_build(need(header, "env"), testbed());  // results are compared, and they are the same on every machine
  due_ = need_count(need(header, "run"), "cases");
  ++set_.launches;
}

void set_reader::read_case(const json& line) {
  if (need(line, "record") != "case") refuse_line("record must be case");
  auto& series = series_of(need_text(line, "id"));
  const auto status = need_text(line, "status");
  // Of several runs the worst stands.
  if (badness_of(status) > badness_of(series.status)) series.status = status;
  series.launches.push_back(first_launch_);
  ++samples_;
}

}  // namespace switchyard::harness::gate
