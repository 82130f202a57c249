// SPDX-License-Identifier: Apache-2.0
// The table at the end of a run.
#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/summary.hpp"

namespace switchyard::harness {
namespace {

struct unit {
  double factor;
  const char* name;
};

/// `value` in the largest unit that does not exceed it, with three digits.
template <std::size_t Count>
std::string in_units(double value, const std::array<unit, Count>& units) {
  auto chosen = units.back();
  for (const auto& candidate : units) {
    // 0.9995 of a unit already prints as 1.00 of it.
    if (value >= 0.9995 * candidate.factor) {
      chosen = candidate;
      break;
    }
  }
  const double scaled = value / chosen.factor;
  const int digits = chosen.factor == 1.0 ? 0 : scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, scaled, chosen.name);
  return text.data();
}

using cells = std::vector<std::string>;

void print_row(std::ostream& out, const cells& row, const std::vector<std::size_t>& widths) {
  constexpr std::size_t left_aligned = 2;  // suite and scenario; numbers stand to the right
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (i != 0) line += "  ";
    const std::string padding(widths[i] - row[i].size(), ' ');
    line += i < left_aligned ? row[i] + padding : padding + row[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

std::string time_cell(const std::optional<std::int64_t>& time_ns) { return time_ns ? duration_text(*time_ns) : "-"; }

}  // namespace

std::string duration_text(std::int64_t time_ns) {
  constexpr std::array<unit, 4> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1.0, "ns"}}};
  return in_units(static_cast<double>(time_ns), units);
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<unit, 5> units{{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1.0, "B"}}};
  return in_units(static_cast<double>(bytes), units);
}

void print_table(std::ostream& out, const run_summary& summary) {
  std::vector<case_status> shown;
  for (std::size_t i = 0; i < num_case_statuses; ++i) {
    const auto status = static_cast<case_status>(i);
    if (status == case_status::pass || summary.outcome().count(status) != 0) shown.push_back(status);
  }
  std::vector<cells> table{{"suite", "scenario", "cases"}};
  for (const auto status : shown) table.front().emplace_back(to_string(status));
  for (const auto* title : {"checked", "max dispatch", "max combine"}) table.front().emplace_back(title);
  for (const auto& row : summary.rows()) {
    const auto& counts = row.outcome.cases;
    cells line{row.suite, row.scenario, std::to_string(std::accumulate(counts.begin(), counts.end(), std::size_t{0}))};
    for (const auto status : shown) line.push_back(std::to_string(row.outcome.count(status)));
    line.push_back(bytes_text(row.checked_bytes));
    line.push_back(time_cell(row.worst_dispatch_ns));
    line.push_back(time_cell(row.worst_combine_ns));
    table.push_back(std::move(line));
  }
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const auto& line : table) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const auto& line : table) print_row(out, line, widths);
  out << "times: " << times_note(summary.fabric()) << "; the slowest step of the slowest rank\n";
}

}  // namespace switchyard::harness
