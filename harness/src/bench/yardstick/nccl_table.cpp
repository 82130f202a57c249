// SPDX-License-Identifier: Apache-2.0
#include "../bench_text.hpp"
#include "../shape_column.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {
namespace {

std::string cell(const std::optional<nccl_best>& best) {
  return best ? text_of("%.2f", best->time_us) + " | " + to_string(best->variant) : std::string("null | null");
}

std::string row(const bench_point& point, const nccl_figures& figures, const link_yardstick& link, nccl_scheme scheme,
                const shape_column& shapes) {
  const auto ours = figures_of(point, link).round_trip_us;
  const auto ratio = figures.round_trip ? text_of("%.2f", ours / figures.round_trip->time_us) : std::string("null");
  std::string failed;
  for (const auto& one : figures.failed) failed += (failed.empty() ? "" : "; ") + one;
  return shapes.cell(point.shape) + "| " + std::to_string(point.tokens) + " | " + std::string(to_string(scheme)) +
         " | " + cell(figures.dispatch) + " | " + cell(figures.round_trip) + " | " + ratio + " | " + failed + " |\n";
}

}  // namespace

std::string nccl_table(const std::vector<bench_point>& points, const link_yardstick& link, const nccl_library& library,
                       const std::vector<nccl_measurement>& measured) {
  if (library.version.empty()) return "NCCL yardsticks: null (" + library.why_not + ")\n";
  const shape_column shapes(points);
  std::string table = "NCCL " + library.version + ", the fastest variants whose result is right" +
                      (library.why_not.empty() ? "" : " (incomplete: " + library.why_not + ")") + "\n\n" +
                      shapes.name() +
                      "| tokens | scheme | dispatch us | variant | round trip us | variant | our round trip / this "
                      "| failed |\n" +
                      shapes.rule() + "| ---: | --- | ---: | --- | ---: | --- | ---: | --- |\n";
  for (const auto& point : points) {
    for (const auto scheme : {nccl_scheme::all_gather, nccl_scheme::send_receive}) {
      table += row(point, figures_of(measured, scheme, point.shape, point.tokens), link, scheme, shapes);
    }
  }
  return table;
}

}  // namespace switchyard::harness
