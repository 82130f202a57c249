// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_repeat.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "bench_text.hpp"
#include "child_lines.hpp"
#include "shape_column.hpp"
#include "switchyard/harness/bench_accounting.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

struct point_times {
  double round_trip_us = 0;
  double dispatch_us = 0;
  double combine_us = 0;
};

/// What is measured again and again.
struct point_key {
  bench_shape shape;
  std::int64_t tokens = 0;
  bench_transport asked = bench_transport::automatic;
  friend auto operator<=>(const point_key&, const point_key&) = default;
};

struct point_line {
  point_key key;
  transport taken = transport::fence;
  point_times times;
};

/// Of a line that is a whole point; nothing for any other.
std::optional<point_line> point_in(const std::string& line) {
  const auto record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object() || record.value("record", nlohmann::json()) != "bench_point") return std::nullopt;
  try {
    const auto time = [&](const char* of) { return record.at(of).at("time_us").get<double>(); };
    const auto asked = bench_transport_of(record.at("transport").get<std::string>());
    if (!asked) return std::nullopt;
    const auto taken =
        record.at("taken").get<std::string>() == to_string(transport::lamport) ? transport::lamport : transport::fence;
    return point_line{{bench_shape_from(record.at("shape")), record.at("tokens").get<std::int64_t>(), *asked},
                      taken,
                      {time("round_trip"), time("dispatch"), time("combine")}};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

json noise_json(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto noise = noise_of(values);
  json result{{"median_us", rounded_us(noise.median_us)}, {"spread_us", rounded_us(noise.spread_us)}};
  result["aa_shift_us"] = noise.aa_shift_us ? json(rounded_us(*noise.aa_shift_us)) : json();
  result["of_processes_us"] = json::array();
  for (const double one : values) result["of_processes_us"].push_back(rounded_us(one));
  return result;
}

std::string noise_cells(const std::vector<double>& values) {
  if (values.empty()) return " null | null | null |";
  const auto noise = noise_of(values);
  return ' ' + text_of("%.2f", noise.median_us) + " | " + text_of("%.2f", noise.spread_us) + " | " +
         text_or_null("%.2f", noise.aa_shift_us) + " |";
}

}  // namespace

repeat_noise noise_of(std::span<const double> of_processes) {
  const auto [least, most] = std::ranges::minmax_element(of_processes);
  repeat_noise result;
  result.median_us = median_of({of_processes.begin(), of_processes.end()});
  result.spread_us = *most - *least;
  constexpr std::size_t least_for_shift = 4;
  if (of_processes.size() < least_for_shift) return result;
  std::vector<double> a;
  std::vector<double> b;
  for (std::size_t i = 0; i < of_processes.size(); ++i) {
    const bool is_a = i % 4 == 0 || i % 4 == 3;  // what drifts evenly falls on both alike
    (is_a ? a : b).push_back(of_processes[i]);
  }
  result.aa_shift_us = std::abs(median_of(a) - median_of(b));
  return result;
}

std::vector<repeated_point> collect_repeats(const std::vector<std::string>& command, int repeats,
                                            std::chrono::seconds patience,
                                            const std::function<void(const std::string&)>& note) {
  std::map<point_key, repeated_point> points;
  for (int i = 1; i <= repeats; ++i) {
    note("process " + std::to_string(i) + " of " + std::to_string(repeats));
    std::map<point_key, point_line> of_process;
    const auto end = read_child_lines(command, std::string(), patience, [&](const std::string& line) {
      if (const auto point = point_in(line)) of_process.emplace(point->key, *point);
    });
    if (!end.empty()) {
      note("process " + std::to_string(i) + " " + end);
      continue;
    }
    for (const auto& [key, one] : of_process) {
      const auto& times = one.times;
      auto& point = points[key];
      point.shape = key.shape;
      point.tokens = key.tokens;
      point.asked = key.asked;
      point.taken = one.taken;
      point.round_trip_us.push_back(times.round_trip_us);
      point.dispatch_us.push_back(times.dispatch_us);
      point.combine_us.push_back(times.combine_us);
    }
  }
  std::vector<repeated_point> result;
  for (auto& [key, point] : points) result.push_back(std::move(point));
  return result;
}

json to_json(const repeated_point& point) {
  json result;
  result["record"] = "bench_repeat";
  result["tokens"] = point.tokens;
  result["shape"] = to_json(point.shape);
  result["transport"] = to_string(point.asked);
  result["taken"] = to_string(point.taken);
  result["processes"] = point.round_trip_us.size();
  result["round_trip"] = noise_json(point.round_trip_us);
  result["dispatch"] = noise_json(point.dispatch_us);
  result["combine"] = noise_json(point.combine_us);
  return result;
}

std::string repeat_table(const std::vector<repeated_point>& points) {
  const shape_column shapes(points);
  auto table = shapes.heading() + shapes.name() +
               "| tokens | transport | processes | round trip us | spread us | A/A shift us | dispatch us | spread us "
               "| A/A shift us | combine us | spread us | A/A shift us |\n" +
               shapes.rule() + "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& point : points) {
    table += shapes.cell(point.shape) + "| " + std::to_string(point.tokens) + " | " +
             transport_text(point.asked, point.taken) + " | " + std::to_string(point.round_trip_us.size()) + " |" +
             noise_cells(point.round_trip_us) + noise_cells(point.dispatch_us) + noise_cells(point.combine_us) + '\n';
  }
  return table;
}

}  // namespace switchyard::harness
