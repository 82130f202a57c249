// SPDX-License-Identifier: Apache-2.0
// Points as a Markdown table.
#include "bench_text.hpp"
#include "shape_column.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::harness {
namespace {

struct table_column {
  std::string name;
  std::string (*cell)(const bench_point& point, const bench_figures& figures);
};

std::string two(double value) { return text_of("%.2f", value); }

std::string median_cell(const std::vector<double>& values) {
  return text_or_null("%.2f", order_statistics_of(values).p50);
}

std::string rate_cell(std::uint64_t bytes, double time_us) { return text_or_null("%.1f", rate_gb_s(bytes, time_us)); }

std::vector<table_column> columns_of(const extra_rates& rates) {
  std::vector<table_column> columns{
      {"tokens", [](const auto& point, const auto&) { return std::to_string(point.tokens); }},
      {"transport", [](const auto& point, const auto&) { return transport_text(point.asked, point.taken); }},
      {"round trip us", [](const auto&, const auto& of) { return two(of.round_trip_us); }},
      {"of floor", [](const auto&, const auto& of) { return two(of.round_trip_of_floor); }},
      {"p90 us",
       [](const auto& point, const auto&) {
         return text_or_null("%.2f", order_statistics_of(max_over_ranks(point.round_trip_us)).p90);
       }},
      {"cold us", [](const auto&, const auto& of) { return two(of.cold_us); }},
      {"eager us", [](const auto&, const auto& of) { return two(of.eager_us); }},
      {"wire GB/s", [](const auto&, const auto& of) { return text_or_null("%.1f", of.wire_bw_gb_s); }},
      {"of link", [](const auto&, const auto& of) { return text_or_null("%.3f", of.of_link); }},
      {"dispatch us", [](const auto&, const auto& of) { return two(of.dispatch_us); }},
      {"of floor", [](const auto&, const auto& of) { return two(of.dispatch_us / of.dispatch_floor_us); }},
      {"combine us", [](const auto&, const auto& of) { return two(of.combine_us); }},
      {"of floor", [](const auto&, const auto& of) { return two(of.combine_us / of.combine_floor_us); }},
      {"dispatch skew us", [](const auto& point, const auto&) { return median_cell(point.dispatch.spans.skew_us); }},
      {"clock error us", [](const auto& point, const auto&) { return text_or_null("%.2f", point.clock_error_us); }},
      {"marked launches", [](const auto& point, const auto&) {
         return point.marked ? std::to_string(point.marked->size()) : std::string("null");
       }}};
  if (rates.logical) {
    columns.push_back({"logical GB/s", [](const auto& point, const auto& of) {
                         return rate_cell(point.dispatch.bytes.unique_bytes + point.combine.bytes.unique_bytes,
                                          of.round_trip_us);
                       }});
  }
  if (rates.selection) {
    columns.push_back({"per-selection GB/s", [](const auto& point, const auto& of) {
                         return rate_cell(point.dispatch.bytes.selection_bytes + point.combine.bytes.selection_bytes,
                                          of.round_trip_us);
                       }});
  }
  return columns;
}

}  // namespace

std::string bench_table(const std::vector<bench_point>& points, const link_yardstick& link, const extra_rates& rates) {
  const auto columns = columns_of(rates);
  const shape_column shapes(points);
  auto names = shapes.name() + '|';
  auto rule = shapes.rule() + '|';
  for (const auto& one : columns) {
    names += ' ' + one.name + " |";
    rule += " ---: |";
  }
  auto table = shapes.heading() + names + '\n' + rule + '\n';
  for (const auto& point : points) {
    const auto figures = figures_of(point, link);
    table += shapes.cell(point.shape) + '|';
    for (const auto& one : columns) table += ' ' + one.cell(point, figures) + " |";
    table += '\n';
  }
  return table;
}

}  // namespace switchyard::harness
