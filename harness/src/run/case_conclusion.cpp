// SPDX-License-Identifier: Apache-2.0
// From what the ranks left behind to the result of the case.
#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

#include "case_state.hpp"
#include "fault_judgement.hpp"

namespace switchyard::harness {
namespace {

void gather_findings(const case_evidence& evidence, const finding_log& faults, case_result& result) {
  for (const auto& outcome : evidence.outcomes) {
    if (!outcome.done) continue;
    std::ranges::copy(outcome.log.kept(), std::back_inserter(result.findings));
    result.total_findings += outcome.log.total();
  }
  // By step, then by rank, so that the order does not depend on which rank was faster; step -1 (guards) last.
  std::ranges::stable_sort(result.findings, {}, [](const finding& found) {
    return std::tuple(static_cast<unsigned>(found.step), found.destination);
  });
  std::ranges::copy(faults.kept(), std::back_inserter(result.findings));
  result.total_findings += faults.total();
  if (result.findings.size() > max_findings) result.findings.resize(max_findings);
}

void gather_numbers(const case_evidence& evidence, bool all_done, case_result& result) {
  const auto& spec = evidence.spec;
  int steps_ended = all_done ? spec.steps : 0;
  reference::low_precision_error error;
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    const auto& outcome = evidence.outcomes[static_cast<std::size_t>(rank)];
    if (!outcome.done) continue;
    result.checked_bytes += outcome.checked_bytes;
    // How far ranks get in a step that faults depends on timing.
    if (spec.expected_fault == fault_code::none) result.results_digest += outcome.results_digest;
    error.add(outcome.low_precision_error);
    if (result.transport.empty()) result.transport = outcome.transport;
    if (!owes_no_record(spec, rank)) steps_ended = std::min(steps_ended, outcome.steps_ended);
    if (outcome.fault && !owes_no_record(spec, rank)) {
      const auto& lanes = outcome.fault->arrival_ns;
      result.faults.push_back({rank,
                               *outcome.fault,
                               describe(*outcome.fault),
                               time_to_verdict(evidence, rank),
                               {lanes.begin(), lanes.begin() + spec.ep_size}});
    }
  }
  // As of the digest: how far ranks get in a step that faults depends on timing.
  if (spec.low_precision_combine != low_precision::none && spec.expected_fault == fault_code::none) {
    result.low_precision_error = error.figures();
  }
  const bool have_arrivals = std::ranges::all_of(
      evidence.outcomes, [](const rank_outcome& outcome) { return outcome.done && !outcome.arrivals_ns.empty(); });
  for (std::size_t which = 0; have_arrivals && which < 2; ++which) {
    auto& matrix = result.arrivals_ns.emplace_back();
    for (const auto& outcome : evidence.outcomes) matrix.push_back(outcome.arrivals_ns[which]);
  }
  for (int step = 0; step < steps_ended; ++step) {
    const auto index = static_cast<std::size_t>(step);
    step_time slowest;
    for (const auto& outcome : evidence.outcomes) {
      slowest.dispatch_ns = std::max(slowest.dispatch_ns, outcome.times[index].dispatch_ns);
      slowest.combine_ns = std::max(slowest.combine_ns, outcome.times[index].combine_ns);
    }
    if (spec.launch == launch_mode::eager) result.times.push_back(slowest);  // a graph's phases are not told apart
    result.remote_bytes += evidence.traffic[index].remote_bytes;
    result.returned_bytes += evidence.traffic[index].returned_bytes;
    result.wire_bytes_max_rank += evidence.traffic[index].max_rank_bytes;
  }
  if (steps_ended > 0) result.wire_bytes_max_rank /= static_cast<std::uint64_t>(steps_ended);
}

// An error says more than the aborted phases that it caused at the peers.
std::string first_error(const case_evidence& evidence) {
  for (std::size_t rank = 0; rank < evidence.outcomes.size(); ++rank) {
    if (!evidence.outcomes[rank].done || evidence.outcomes[rank].error.empty()) continue;
    return "rank " + std::to_string(rank) + ": " + evidence.outcomes[rank].error;
  }
  return {};
}

}  // namespace

std::string place_text(int position) {
  if (position == after_all) return "its end";
  if (position < 0) return "construction";
  return std::string(to_string(static_cast<phase>(position % 2))) + " of step " + std::to_string(position / 2);
}

case_result unless_lost(case_result what, const std::optional<std::string>& lost) {
  if (what.status == case_status::pass || what.status == case_status::skipped || what.status == case_status::missing ||
      !lost) {
    return what;
  }
  what.status = case_status::device_lost;
  what.reason = *lost + "; seen as: " + what.reason;
  return what;
}

case_result conclude(const case_evidence& evidence, const std::string& stuck) {
  case_result result;
  const bool all_done =
      std::ranges::all_of(evidence.outcomes, [](const rank_outcome& outcome) { return outcome.done; });
  finding_log faults;
  judge_faults(evidence, faults);
  gather_findings(evidence, faults, result);
  gather_numbers(evidence, all_done, result);

  const bool data_is_wrong = result.total_findings > faults.total();
  const bool timed_out = evidence.spec.expected_fault == fault_code::none &&
                         std::ranges::any_of(result.faults, [](const rank_fault& fault) {
                           return fault.record.code == fault_code::timeout;
                         });
  if (!stuck.empty()) {
    result.status = case_status::timeout;
    result.reason = stuck;
  } else if (const std::string error = first_error(evidence); !error.empty()) {
    const bool unsupported =
        std::ranges::all_of(evidence.outcomes, [](const rank_outcome& outcome) { return outcome.unsupported; });
    // On the CPU every case can be served; a machine may be too small for one, and says so on all ranks alike.
    result.status = unsupported && evidence.on_gpus ? case_status::skipped : case_status::fail;
    result.reason = error;
  } else if (!result.findings.empty()) {
    result.status = !data_is_wrong && timed_out ? case_status::timeout : case_status::fail;
    result.reason = std::to_string(result.total_findings) + " findings, the first: " + describe(result.findings[0]);
  }
  return result;
}

}  // namespace switchyard::harness
