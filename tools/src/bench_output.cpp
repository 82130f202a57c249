// SPDX-License-Identifier: Apache-2.0
#include "bench_output.hpp"

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

void tell(const std::string& line) { std::cerr << line << std::endl; }

void print(const nlohmann::ordered_json& record) {
  std::cout << harness::record_line(record) << std::endl;
  if (!std::cout) throw harness::environment_error("bench: standard output could not be written");
}

}  // namespace

line_file::line_file(const std::string& path) : path_(path) {
  if (path.empty()) return;
  file_.open(path, std::ios::out | std::ios::trunc);
  check();
}

void line_file::write(const nlohmann::ordered_json& record) {
  if (path_.empty()) return;
  file_ << harness::record_line(record) << std::endl;
  check();
}

void line_file::check() const {
  if (!file_) throw harness::input_error("--out: " + path_ + ": must be a file that can be written");
}

bench_output::bench_output(const harness::bench_options& options, const harness::extra_rates& rates,
                           const std::string& path)
    : options_(options), rates_(rates), file_(path) {}

void bench_output::note(const std::string& line) { tell(line); }

void bench_output::machine(const harness::bench_machine& where) {
  for (const auto& gpu : where.gpus) tell(gpu.description);
  if (!where.nvml_why_not.empty()) tell("states of the GPUs are not read: " + where.nvml_why_not);
  file_.write(harness::bench_header_json(harness::read_environment(), where, options_,
                                         harness::utc_text(std::chrono::system_clock::now())));
}

void bench_output::link(const harness::link_yardstick& measured) {
  link_ = measured;
  file_.write(harness::to_json(measured));
  std::cout << "link: " << harness::record_line(harness::to_json(measured)) << std::endl;
}

void bench_output::point(const harness::bench_point& measured) {
  points_.push_back(measured);
  file_.write(harness::to_json(measured, link_, rates_));
  const auto figures = harness::figures_of(measured, link_);
  tell("  " + std::to_string(figures.round_trip_us) + " us a round trip, " +
       std::to_string(figures.round_trip_of_floor) + " of the floor");
}

void bench_output::nccl_found(const harness::nccl_library& used) {
  library_ = used;
  file_.write(harness::to_json(used));
  tell(used.version.empty() ? "no NCCL yardsticks: " + used.why_not : "NCCL " + used.version);
}

void bench_output::measured(const harness::nccl_measurement& one) {
  nccl_.push_back(one);
  file_.write(harness::to_json(one));
}

void bench_output::conclude() {
  if (!nccl_.empty()) {
    for (const auto& point : points_) file_.write(harness::nccl_best_json(nccl_, point.tokens));
  }
  std::cout << harness::bench_table(points_, link_, rates_) << '\n'
            << harness::nccl_table(points_, link_, library_, nccl_);
}

void yardstick_output::note(const std::string& line) { tell(line); }

void yardstick_output::nccl_found(const harness::nccl_library& used) { print(harness::to_json(used)); }

void yardstick_output::measured(const harness::nccl_measurement& one) { print(harness::to_json(one)); }

}  // namespace switchyard::tools
