// SPDX-License-Identifier: Apache-2.0
// The JSON of a run's records.
#include "switchyard/harness/record_json.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "recorded_variables.hpp"
#include "switchyard/harness/digest.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

std::string hex(std::uint64_t bits) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(bits));
  return text.data();
}

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json ranks_in(const rank_set& set) {
  json ranks = json::array();
  for (int rank = 0; rank < max_ep_size; ++rank) {
    if (contains(set, rank)) ranks.push_back(rank);
  }
  return ranks;
}

json selection_json(const case_selection& selection) {
  json out;
  out["suites"] = selection.suites;
  out["case"] = selection.case_id ? json(*selection.case_id) : json();
  out["filter"] = text_or_null(selection.filter);
  out["tags"] = selection.tags;
  out["ranks"] = selection.ranks ? json(*selection.ranks) : json();
  return out;
}

json finding_json(const finding& found) {
  json out;
  out["verdict"] = to_string(found.verdict);
  out["step"] = found.step;
  out["source"] = found.source;
  out["destination"] = found.destination;
  out["token"] = found.token;
  out["row"] = found.row;
  out["buffer"] = found.buffer;
  out["byte"] = found.byte;
  out["expected"] = hex(found.expected);
  out["actual"] = hex(found.actual);
  out["count"] = found.count;
  out["detail"] = found.detail;
  return out;
}

json lanes_json(const std::vector<std::uint32_t>& arrivals_ns) {
  json lanes = json::array();
  for (const auto arrival : arrivals_ns) lanes.push_back(arrival == not_arrived ? json() : json(arrival));
  return lanes;
}

json matrix_json(const std::vector<wait_matrix>& by_phase) {
  if (by_phase.empty()) return {};
  json out;
  for (const auto which : {phase::dispatch, phase::combine}) {
    auto& matrix = out[std::string(to_string(which))] = json::array();
    for (const auto& lanes : by_phase[static_cast<std::size_t>(which)]) matrix.push_back(lanes_json(lanes));
  }
  return out;
}

json low_precision_json(const std::optional<reference::low_precision_figures>& error) {
  if (!error) return {};
  json out;
  out["elements"] = error->elements;
  out["left_out"] = error->left_out;
  out["max_relative"] = error->max_relative;
  out["mean_relative"] = error->mean_relative;
  out["rms_relative"] = error->rms_relative;
  return out;
}

/// The part of a fault that the case decides when the fault is due.
json fault_json(const rank_fault& fault) {
  const auto& record = fault.record;
  json out;
  out["rank"] = fault.rank;
  out["code"] = to_string(record.code);
  out["field"] = to_string(record.field);
  return out;
}

/// The part that timing decides: who was first to see it, what was missing at that moment, and for how long. A rank
/// that learns of a mismatch by notice may be a phase further, has no values of its own, and blames whom it is told to.
json fault_time_json(const rank_fault& fault) {
  const auto& record = fault.record;
  json out;
  out["rank"] = fault.rank;
  out["phase"] = to_string(record.phase);
  out["epoch"] = record.epoch;
  out["suspect"] = record.rank;
  out["expected"] = hex(record.expected);
  out["actual"] = hex(record.actual);
  out["from_notice"] = record.from_notice != 0;
  out["origin"] = record.origin;
  out["awaited"] = to_string(record.awaited);
  out["missing"] = ranks_in(record.missing);
  out["waited_ns"] = record.waited_ns;
  out["timeout_ns"] = record.timeout_ns;
  out["verdict_ns"] = fault.to_verdict ? json(fault.to_verdict->count()) : json();
  out["arrival_ns"] = lanes_json(fault.arrivals_ns);
  out["message"] = fault.message;
  return out;
}

json time_json(const case_result& result, std::chrono::nanoseconds elapsed) {
  json out;
  out["elapsed_ns"] = elapsed.count();
  auto& dispatch = out["dispatch_ns"] = json::array();
  for (const auto& step : result.times) dispatch.push_back(step.dispatch_ns);
  auto& combine = out["combine_ns"] = json::array();
  for (const auto& step : result.times) combine.push_back(step.combine_ns);
  out["arrival_ns"] = matrix_json(result.arrivals_ns);
  auto& faults = out["faults"] = json::array();
  for (const auto& fault : result.faults) faults.push_back(fault_time_json(fault));
  return out;
}

}  // namespace

// So that a record stands without its scenario file.
json spec_json(const case_spec& spec) {
  json out;
  const auto& params = spec.params;
  out["ranks"] = spec.ep_size;
  out["num_experts"] = params.num_experts;
  out["top_k"] = params.top_k;
  out["hidden_size"] = params.hidden_size;
  out["dtype"] = to_string(params.dtype);
  out["dispatch_format"] = params.dispatch_format ? json(to_string(*params.dispatch_format)) : json();
  out["tokens"] = spec.num_tokens;
  out["token_counts"] = spec.token_counts ? json(spec.token_counts->text()) : json();
  out["padding_rows"] = spec.padding_rows.text();
  out["empty_ranks"] = spec.empty_ranks;
  out["runtime_max_tokens_from"] = to_string(spec.runtime_max_tokens_from);
  out["runtime_max_tokens"] = spec.runtime_max_tokens ? json(*spec.runtime_max_tokens) : json();
  out["max_tokens_per_rank"] = params.max_tokens_per_rank;
  out["topk_weights"] = spec.topk_weights;
  out["extra_bytes"] = spec.extra_bytes;
  out["eplb_stats"] = spec.eplb_stats;
  out["routing"] = to_string(spec.routing);
  out["trace"] = spec.trace ? json(spec.trace->about().name) : json();
  out["zipf_exponent_percent"] = spec.law.zipf_exponent_percent;
  out["hot_percent"] = spec.law.hot_percent;
  out["hot_rank"] = spec.law.hot_rank;
  out["hot_expert"] = spec.law.hot_expert;
  out["expert_groups"] = spec.law.expert_groups;
  out["groups_per_token"] = spec.law.groups_per_token;
  out["duplicate_percent"] = spec.duplicate_percent;
  out["invalid_percent"] = spec.invalid_percent;
  out["values"] = to_string(spec.values);
  out["experts"] = to_string(spec.experts);
  out["variation"] = to_string(spec.variation);
  out["launch"] = to_string(spec.launch);
  out["lamport"] = to_string(spec.lamport);
  out["lamport_max_tokens"] = spec.lamport_max_tokens;
  out["low_precision_combine"] = to_string(spec.low_precision_combine);
  out["steps"] = spec.steps;
  out["blocks"] = spec.blocks;
  out["workers"] = spec.workers;
  out["first_epoch"] = spec.first_epoch;
  out["timeout_ms"] = spec.timeout.count();
  out["warmup_timeout_ms"] = spec.warmup_timeout.count() == 0 ? json() : json(spec.warmup_timeout.count());
  out["late_us"] = spec.late.at_most.count();
  out["late_rank"] = spec.late.rank ? json(*spec.late.rank) : json();
  out["enable_rank_mask"] = spec.enable_rank_mask;
  out["masked_from"] = spec.masked_from ? json(spec.masked_from->text()) : json();
  out["rejoin_step"] = spec.rejoin_step ? json(*spec.rejoin_step) : json();
  out["layers"] = spec.layers;
  out["layer_formats"] = to_string(spec.layer_formats);
  out["retire_every"] = spec.retire_every;
  out["checkpoint_every"] = spec.checkpoint_every;
  out["side_workspace_every"] = spec.side_workspace_every;
  out["inject"] = json();
  if (spec.inject) {
    const auto& fault = *spec.inject;
    out["inject"] = {{"kind", to_string(fault.kind)},
                     {"rank", fault.rank},
                     {"step", fault.step},
                     {"phase", to_string(fault.phase)},
                     {"field", to_string(fault.field)},
                     {"late_ms", fault.late.count()}};
  }
  out["expected_fault"] = to_string(spec.expected_fault);
  out["prompt_verdict"] = spec.prompt_verdict;
  out["lacks_room_for"] = to_string(spec.lacks);
  out["recover"] = spec.recovers;
  out["recover_without"] = spec.leaves_out;
  return out;
}

json header_json(const environment& where, const run_description& run) {
  json out;
  out["record"] = "header";
  out["schema"] = record_schema;
  out["env"] = to_json(where);
  json description;
  description["started"] = run.started;
  description["seed"] = run.seed;
  description["cases"] = run.cases;
  description["fabric"] = to_string(run.fabric.kind);
  description["times"] = times_note(run.fabric.kind);
  if (run.fabric.kind == fabric_kind::cuda) {
    description["gpus"] = run.fabric.gpus;
    description["driver"] = run.fabric.driver;
  }
  if (!run.launch.is_null()) description["launch"] = run.launch;
  description["arguments"] = run.arguments;
  description["variables"] = variables_json();
  description["selection"] = selection_json(run.selection);
  description["shard"] = run.part ? json{{"index", run.part->index}, {"count", run.part->count}} : json();
  description["cases_digest"] = hex(run.cases_digest);
  out["run"] = std::move(description);
  return out;
}

json case_json(const case_spec& spec, const case_result& result, std::uint64_t seed, std::chrono::nanoseconds elapsed) {
  json out;
  out["record"] = "case";
  out["id"] = spec.id;
  out["suite"] = spec.suite;
  out["scenario"] = spec.name;
  out["tags"] = spec.tags;
  out["profile"] = text_or_null(spec.profile);
  out["seed"] = seed;
  out["inputs_digest"] = hex(inputs_digest(spec, seed));
  out["status"] = to_string(result.status);
  out["reason"] = result.reason;
  out["spec"] = spec_json(spec);
  out["transport"] = result.transport;
  out["checked_bytes"] = result.checked_bytes;
  out["results_digest"] = hex(result.results_digest);
  out["remote_bytes"] = result.remote_bytes;
  out["returned_bytes"] = result.returned_bytes;
  out["wire_bytes_max_rank"] = result.wire_bytes_max_rank;
  out["low_precision_error"] = low_precision_json(result.low_precision_error);
  out["total_findings"] = result.total_findings;
  auto& findings = out["findings"] = json::array();
  for (const auto& found : result.findings) findings.push_back(finding_json(found));
  auto& faults = out["faults"] = json::array();
  for (const auto& fault : result.faults) faults.push_back(fault_json(fault));
  out["time"] = time_json(result, elapsed);
  return out;
}

json error_json(const std::string& message, std::optional<int> code) {
  json out;
  out["record"] = "error";
  out["schema"] = record_schema;
  out["message"] = message;
  out["exit_code"] = code ? json(*code) : json();
  return out;
}

std::string record_line(const json& record) { return record.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string utc_text(std::chrono::system_clock::time_point moment) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace switchyard::harness
