// SPDX-License-Identifier: Apache-2.0
#include "bench_output.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "switchyard/harness/bench_grid.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/spec/errors.hpp"

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
  if (measured.variant != harness::bench_variant::usual) {
    varied_points_.push_back(measured);
    return tell("  " + std::string(to_string(measured.asked)) + ", " + std::string(to_string(measured.variant)) + ": " +
                std::to_string(harness::median_of(harness::max_over_ranks(measured.round_trip_us))) +
                " us a round trip");
  }
  points_.push_back(measured);
  file_.write(harness::to_json(measured, link_, rates_));
  const auto figures = harness::figures_of(measured, link_);
  tell("  " + std::string(to_string(measured.asked)) + ": " + std::to_string(figures.round_trip_us) +
       " us a round trip, " + std::to_string(figures.round_trip_of_floor) + " of the floor");
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

std::vector<harness::bench_point> bench_output::compared_points() const {
  const auto& all = options_.transports;
  const bool has_auto = std::ranges::count(all, harness::bench_transport::automatic) != 0;
  const auto by = has_auto ? harness::bench_transport::automatic : all.front();
  std::vector<harness::bench_point> result;
  std::ranges::copy_if(points_, std::back_inserter(result), [&](const auto& point) { return point.asked == by; });
  return result;
}

void bench_output::conclude() {
  const auto compared = compared_points();
  if (!nccl_.empty()) {
    for (const auto& point : compared) file_.write(harness::nccl_best_json(nccl_, point.shape, point.tokens));
  }
  std::cout << harness::bench_table(points_, link_, rates_) << '\n'
            << harness::nccl_table(compared, link_, library_, nccl_);
  if (const auto grid = harness::summarise_grid(compared, points_, nccl_); !grid.empty()) {
    file_.write(harness::to_json(grid));
    std::cout << '\n' << harness::grid_text(grid);
  }
  conclude_transports(options_, points_, file_);
  auto all = points_;
  std::ranges::copy(varied_points_, std::back_inserter(all));
  conclude_variants(all, file_);
}

void conclude_variants(std::span<const harness::bench_point> points, line_file& file) {
  const auto compared = harness::compare_variants(points);
  for (const auto& one : compared) file.write(harness::to_json(one));
  if (!compared.empty()) std::cout << '\n' << harness::variants_text(compared);
}

namespace {

/// Of the points of one shape.
void conclude_shape(const harness::bench_options& options, const harness::bench_shape& shape,
                    std::span<const harness::trip_samples> trips, line_file& file) {
  const auto crossover = harness::crossover_of(harness::compare_transports(trips));
  const auto write = [&](nlohmann::ordered_json record) {
    record["shape"] = harness::to_json(shape);
    file.write(record);
  };
  write(harness::to_json(crossover));
  std::cout << '\n';
  if (options.shapes.size() > 1) std::cout << harness::shape_text(shape) << '\n';
  std::cout << harness::crossover_text(crossover);
  if (std::ranges::count(options.transports, harness::bench_transport::automatic) == 0) return;
  const auto verdicts = harness::check_auto(trips);
  write(harness::auto_check_json(verdicts));
  std::cout << harness::auto_check_text(verdicts);
}

template <class Point>
void conclude_shapes(const harness::bench_options& options, const std::vector<Point>& points, line_file& file) {
  const auto asked = [&](harness::bench_transport which) { return std::ranges::count(options.transports, which) != 0; };
  if (!asked(harness::bench_transport::fence) || !asked(harness::bench_transport::lamport)) return;
  for (const auto& one : harness::options_of_shapes(options)) {
    const auto shape = harness::shape_of(one.params, one.low_precision_combine);
    std::vector<Point> of_shape;
    std::ranges::copy_if(points, std::back_inserter(of_shape),
                         [&](const Point& point) { return point.shape == shape; });
    conclude_shape(options, shape, harness::trips_of(of_shape), file);
  }
}

}  // namespace

void conclude_transports(const harness::bench_options& options, const std::vector<harness::bench_point>& points,
                         line_file& file) {
  conclude_shapes(options, points, file);
}

void conclude_transports(const harness::bench_options& options, const std::vector<harness::repeated_point>& points,
                         line_file& file) {
  conclude_shapes(options, points, file);
}

bool measure_or_tell(const std::string& command, const std::function<void()>& measure) {
  try {
    measure();
    return true;
  } catch (const harness::wrong_result& wrong) {
    tell("switchyard: " + command + ": wrong result, no time is told: " + wrong.what());
  } catch (const peer_fault& fault) {
    tell("switchyard: " + command + ": " + fault.what());
  } catch (const cuda_error& failure) {
    tell("switchyard: " + command + ": " + failure.what());
  }
  return false;
}

void yardstick_output::note(const std::string& line) { tell(line); }

void yardstick_output::nccl_found(const harness::nccl_library& used) { print(harness::to_json(used)); }

void yardstick_output::measured(const harness::nccl_measurement& one) { print(harness::to_json(one)); }

}  // namespace switchyard::tools
