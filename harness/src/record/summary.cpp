// SPDX-License-Identifier: Apache-2.0
// Adds up a run.
#include "switchyard/harness/summary.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {
namespace {

void keep_larger(std::optional<std::int64_t>& worst, std::int64_t time_ns) {
  worst = std::max(worst.value_or(time_ns), time_ns);
}

nlohmann::ordered_json counts_json(const run_outcome& outcome) {
  nlohmann::ordered_json out;
  for (std::size_t i = 0; i < num_case_statuses; ++i) {
    out[std::string(to_string(static_cast<case_status>(i)))] = outcome.cases[i];
  }
  return out;
}

nlohmann::ordered_json judged_json(const judged_list& judged) {
  nlohmann::ordered_json out;
  out["list"] = judged.list.name;
  out["entries"] = judged.list.entries.size();
  auto& shortfalls = out["shortfalls"] = nlohmann::ordered_json::array();
  for (const auto& one : judged.shortfalls) {
    shortfalls.push_back({{"entry", one.entry},
                          {"id", one.case_id.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(one.case_id)},
                          {"status", to_string(one.status)}});
  }
  return out;
}

nlohmann::ordered_json optional_json(const std::optional<std::int64_t>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

summary_row& run_summary::row_of(const case_spec& spec) {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const summary_row& row) {
    return row.suite == spec.suite && row.scenario == spec.name;
  });
  if (found != rows_.end()) return *found;
  summary_row row;
  row.suite = spec.suite;
  row.scenario = spec.name;
  rows_.push_back(std::move(row));
  return rows_.back();
}

void run_summary::count(const case_spec& spec, case_status status) {
  ++outcome_.count(status);
  ++row_of(spec).outcome.count(status);
  if (status != case_status::pass) not_passed_.emplace_back(spec.id, status);
}

void run_summary::add(const case_spec& spec, const case_result& result) {
  count(spec, result.status);
  auto& row = row_of(spec);
  row.checked_bytes += result.checked_bytes;
  row.remote_bytes += result.remote_bytes;
  for (const auto& step : result.times) {
    keep_larger(row.worst_dispatch_ns, step.dispatch_ns);
    keep_larger(row.worst_combine_ns, step.combine_ns);
  }
}

void run_summary::add_must_pass(const must_pass_list& list, std::vector<must_pass_shortfall> shortfalls) {
  outcome_.shortfalls += shortfalls.size();
  must_pass_.push_back({list, std::move(shortfalls)});
}

void run_summary::add_missing(const case_spec& spec) { count(spec, case_status::missing); }

nlohmann::ordered_json to_json(const run_summary& summary, std::uint64_t seed) {
  nlohmann::ordered_json out;
  out["record"] = "summary";
  out["schema"] = record_schema;
  out["seed"] = seed;
  out["exit_code"] = static_cast<int>(summary.code());
  const bool nothing_due = summary.outcome().empty_shard && summary.code() == exit_code::all_passed;
  out["meaning"] = nothing_due ? "no case was dealt to this shard" : meaning(summary.code());
  out["cases"] = counts_json(summary.outcome());
  auto& rows = out["scenarios"] = nlohmann::ordered_json::array();
  auto& times = out["time"]["scenarios"] = nlohmann::ordered_json::array();
  for (const auto& row : summary.rows()) {
    rows.push_back({{"suite", row.suite},
                    {"scenario", row.scenario},
                    {"cases", counts_json(row.outcome)},
                    {"checked_bytes", row.checked_bytes},
                    {"remote_bytes", row.remote_bytes}});
    times.push_back({{"suite", row.suite},
                     {"scenario", row.scenario},
                     {"worst_dispatch_ns", optional_json(row.worst_dispatch_ns)},
                     {"worst_combine_ns", optional_json(row.worst_combine_ns)}});
  }
  out["time"]["times"] = times_note(summary.fabric());
  auto& others = out["not_passed"] = nlohmann::ordered_json::array();
  for (const auto& [id, status] : summary.not_passed()) others.push_back({{"id", id}, {"status", to_string(status)}});
  auto& lists = out["must_pass"] = nlohmann::ordered_json::array();
  for (const auto& judged : summary.must_pass()) lists.push_back(judged_json(judged));
  return out;
}

}  // namespace switchyard::harness
