// SPDX-License-Identifier: Apache-2.0
// Files of a bench, of which each is a launch, and of a run, whose cases have statuses.
#include "bench_scenarios.hpp"
#include "set_reader.hpp"
#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness::gate {
namespace {

/// Schemas of a bench that say what is needed here.
constexpr int least_bench_schema = 4;

}  // namespace

void set_reader::begin_bench(const json& header) {
  const auto schema = need_count(header, "schema");
  if (schema < least_bench_schema || schema > bench_schema) {
    refuse_line("schema must be " + std::to_string(least_bench_schema) + " to " + std::to_string(bench_schema));
  }
  take_build(need(header, "env"), testbed_of_bench(header));
  options_ = need(header, "options");
  (void)bench_scenario_id(options_, "round_trip", 1, "auto");  // whole, or it throws here
  due_ = need(options_, "tokens").size() * need(options_, "transports").size();
  ++set_.launches;
}

void set_reader::read_point(const json& line) {
  if (need(line, "record") != "bench_point") return;  // link, yardsticks, what was made of points
  const auto tokens = static_cast<std::int64_t>(need_count(line, "tokens"));
  const auto transport = need_text(line, "transport");
  const auto& marks = need(line, "round_trip").find("marked_launches");
  const bool marked = marks != line["round_trip"].end() && marks->is_array() && !marks->empty();
  for (const auto* phase : bench_phases) {
    add(bench_scenario_id(options_, phase, tokens, transport), first_launch_, need_time(need(line, phase), "time_us"),
        marked);
  }
  samples_ -= bench_phases.size() - 1;  // counted are points
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
  // Of several runs the first that is no pass stands.
  if (series.status.empty() || series.status == "pass") series.status = status;
  series.launches.push_back(first_launch_);
  ++samples_;
}

}  // namespace switchyard::harness::gate
