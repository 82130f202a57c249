// SPDX-License-Identifier: Apache-2.0
#include "tune_output.hpp"

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::tools {

void tune_output::note(const std::string& line) { std::cerr << line << std::endl; }

void tune_output::machine(const harness::bench_machine& where) {
  for (const auto& gpu : where.gpus) note(gpu.description);
  print(harness::bench_header_json(harness::read_environment(), where, options_,
                                   harness::utc_text(std::chrono::system_clock::now())));
}

void tune_output::link(const harness::link_yardstick& measured) { print(harness::to_json(measured)); }

void tune_output::point(const harness::bench_point& measured) {
  points_.push_back(measured);
  if (measured.asked == harness::bench_transport::lamport && measured.taken != transport::lamport) {
    note("  no step of this shape goes by lamport: " + measured.taken_because);
  }
  for (const auto& one : compared()) {
    if (one.tokens == measured.tokens) note("  " + harness::comparison_text(one));
  }
}

std::vector<std::int64_t> tune_output::further_tokens() {
  constexpr int rounds = 2;
  constexpr int points_a_round = 3;
  if (rounds_done_++ == rounds) return {};
  const auto points = compared();
  return harness::tokens_around(points, harness::decide_threshold(points), points_a_round);
}

harness::exit_code tune_output::conclude() const {
  const auto points = compared();
  const auto threshold = harness::decide_threshold(points);
  print(harness::to_json(points, threshold));
  if (form_ == tune_form::text) {
    std::cout << harness::comparison_table(points) << '\n' << harness::tuning_text(points, threshold);
  }
  const bool decided = threshold.measured && threshold.too_slow_at.empty();
  return decided ? harness::exit_code::all_passed : harness::exit_code::inconclusive;
}

std::vector<harness::transport_comparison> tune_output::compared() const {
  return harness::compare_transports(harness::trips_of(points_));
}

void tune_output::print(const nlohmann::ordered_json& record) const {
  if (form_ == tune_form::json) std::cout << harness::record_line(record) << std::endl;
}

}  // namespace switchyard::tools
