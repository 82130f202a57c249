// SPDX-License-Identifier: Apache-2.0
// From what the ranks left behind to the result of the case.
#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

#include "case_state.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

// How much later than its deadline a fault may be recorded: threads of a busy machine are not always running.
constexpr std::chrono::nanoseconds fault_slack = 2s;

bool is_absent(const case_spec& spec, int rank) { return spec.absent && spec.absent->rank == rank; }

rank_set set_of(int rank) {
  rank_set set{};
  insert(set, rank);
  return set;
}

// The record must name the absent rank and no other.
bool names_exactly(const fault_record& record, int rank) {
  const bool none_missing = record.missing == rank_set{};
  const bool only_missing = record.missing == set_of(rank);
  return record.rank == rank ? none_missing || only_missing : record.rank < 0 && only_missing;
}

// The first step in which ranks pass different T; nothing when there is none.
std::optional<step_plan> first_disagreement(const case_state& state, int& step) {
  for (step = 0; step < state.spec.steps; ++step) {
    auto plan = make_step_plan(state.spec, state.options.seed, step);
    if (plan.ranks_disagree()) return plan;
  }
  return std::nullopt;
}

// Every rank must record that T differs; who saw it for itself, with its own T and that of the rank it names.
std::string mismatch_problem(const case_state& state, int rank, const fault_record& record, int steps_ended) {
  int step = 0;
  const auto plan = first_disagreement(state, step);
  if (!plan) return "no step in which ranks disagree on T";
  // Ranks run ahead by up to one phase, so a notice may find its reader still in the combine before.
  const bool a_phase_behind = record.from_notice != 0 && record.phase == phase::combine && steps_ended == step - 1;
  if (!a_phase_behind && (record.phase != phase::dispatch || steps_ended != step)) {
    return "the fault was due in dispatch of step " + std::to_string(step);
  }
  if (record.field != step_field::runtime_max_tokens_per_rank) return "the field must be runtime_max_tokens_per_rank";
  if (record.from_notice != 0) return {};
  const auto own = static_cast<std::uint64_t>(plan->tokens_per_rank_of(rank));
  if (record.expected != own) return "it must expect this rank's own T, " + std::to_string(own);
  const bool names_a_peer = record.rank >= 0 && record.rank < state.spec.ep_size && record.rank != rank;
  if (!names_a_peer || record.actual != static_cast<std::uint64_t>(plan->tokens_per_rank_of(record.rank))) {
    return "it must name a peer and that peer's T";
  }
  return {};
}

std::string fault_problem(const case_state& state, int rank, const fault_record& record, int steps_ended) {
  const auto& spec = state.spec;
  if (spec.expected_fault == fault_code::none) return "a fault where none was due";
  if (record.code != spec.expected_fault) {
    return "the fault due was " + std::string(to_string(spec.expected_fault));
  }
  if (spec.runtime_max_tokens_from == runtime_max_rule::own_tokens) {
    return mismatch_problem(state, rank, record, steps_ended);
  }
  if (!spec.absent) return {};
  if (record.phase != spec.absent->phase) {
    return "the fault was due in " + std::string(to_string(spec.absent->phase));
  }
  if (steps_ended != spec.absent->step) {
    return "the fault was due in step " + std::to_string(spec.absent->step);
  }
  if (!names_exactly(record, spec.absent->rank)) {
    return "it must name exactly rank " + std::to_string(spec.absent->rank);
  }
  if (std::chrono::nanoseconds(record.waited_ns) > spec.timeout + fault_slack) return "it came long after the deadline";
  return {};
}

// Adds findings for faults that are missing, wrong or not due.
void judge_faults(const case_state& state, finding_log& log) {
  const auto& spec = state.spec;
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    const auto& outcome = state.outcomes[static_cast<std::size_t>(rank)];
    if (is_absent(spec, rank) || !outcome.done) continue;
    finding found{.verdict = verdict::wrong_fault,
                  .destination = rank,
                  .buffer = "status",
                  .expected = static_cast<std::uint64_t>(spec.expected_fault)};
    if (outcome.fault) {
      const std::string problem = fault_problem(state, rank, *outcome.fault, outcome.steps_ended);
      if (problem.empty()) continue;
      found.step = outcome.steps_ended;
      found.actual = static_cast<std::uint64_t>(outcome.fault->code);
      found.detail = problem + ": " + describe(*outcome.fault);
      log.add(std::move(found));
    } else if (spec.expected_fault != fault_code::none && outcome.error.empty()) {
      found.detail = "no fault recorded where " + std::string(to_string(spec.expected_fault)) + " was due";
      log.add(std::move(found));
    } else if (outcome.error.empty() && outcome.steps_ended != spec.steps) {
      found.step = outcome.steps_ended;
      found.detail = "ended after " + std::to_string(outcome.steps_ended) + " of " + std::to_string(spec.steps) +
                     " steps without a fault";
      log.add(std::move(found));
    }
  }
}

void gather_findings(const case_state& state, const finding_log& faults, case_result& result) {
  for (const auto& outcome : state.outcomes) {
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

void gather_numbers(const case_state& state, bool all_done, case_result& result) {
  const auto& spec = state.spec;
  int steps_ended = all_done ? spec.steps : 0;
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    const auto& outcome = state.outcomes[static_cast<std::size_t>(rank)];
    if (!outcome.done) continue;
    result.checked_bytes += outcome.checked_bytes;
    // How far ranks get in a step that faults depends on timing.
    if (spec.expected_fault == fault_code::none) result.results_digest += outcome.results_digest;
    if (result.transport.empty()) result.transport = outcome.transport;
    if (!is_absent(spec, rank)) steps_ended = std::min(steps_ended, outcome.steps_ended);
    if (outcome.fault && !is_absent(spec, rank)) {
      result.faults.push_back({rank, *outcome.fault, describe(*outcome.fault)});
    }
  }
  for (int step = 0; step < steps_ended; ++step) {
    const auto index = static_cast<std::size_t>(step);
    step_time slowest;
    for (const auto& outcome : state.outcomes) {
      slowest.dispatch_ns = std::max(slowest.dispatch_ns, outcome.times[index].dispatch_ns);
      slowest.combine_ns = std::max(slowest.combine_ns, outcome.times[index].combine_ns);
    }
    if (spec.launch == launch_mode::eager) result.times.push_back(slowest);  // a graph's phases are not told apart
    result.remote_bytes += state.ring.traffic()[index].remote_bytes;
    result.wire_bytes_max_rank += state.ring.traffic()[index].max_rank_bytes;
  }
  if (steps_ended > 0) result.wire_bytes_max_rank /= static_cast<std::uint64_t>(steps_ended);
}

// An error says more than the aborted phases that it caused at the peers.
std::string first_error(const case_state& state) {
  for (std::size_t rank = 0; rank < state.outcomes.size(); ++rank) {
    if (!state.outcomes[rank].done || state.outcomes[rank].error.empty()) continue;
    return "rank " + std::to_string(rank) + ": " + state.outcomes[rank].error;
  }
  return {};
}

}  // namespace

case_result conclude(const case_state& state, const std::string& stuck) {
  case_result result;
  const bool all_done = std::ranges::all_of(state.outcomes, [](const rank_outcome& outcome) { return outcome.done; });
  finding_log faults;
  judge_faults(state, faults);
  gather_findings(state, faults, result);
  gather_numbers(state, all_done, result);

  const bool data_is_wrong = result.total_findings > faults.total();
  const bool timed_out =
      state.spec.expected_fault == fault_code::none && std::ranges::any_of(result.faults, [](const rank_fault& fault) {
        return fault.record.code == fault_code::timeout;
      });
  if (!stuck.empty()) {
    result.status = case_status::timeout;
    result.reason = stuck;
  } else if (const std::string error = first_error(state); !error.empty()) {
    const bool unsupported =
        std::ranges::all_of(state.outcomes, [](const rank_outcome& outcome) { return outcome.unsupported; });
    // On the CPU every case can be served; a machine may be too small for one, and says so on all ranks alike.
    result.status = unsupported && state.options.machine ? case_status::skipped : case_status::fail;
    result.reason = error;
  } else if (!result.findings.empty()) {
    result.status = !data_is_wrong && timed_out ? case_status::timeout : case_status::fail;
    result.reason = std::to_string(result.total_findings) + " findings, the first: " + describe(result.findings[0]);
  }
  return result;
}

}  // namespace switchyard::harness
