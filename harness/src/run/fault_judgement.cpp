// SPDX-License-Identifier: Apache-2.0
// What each rank must record follows from the case: who errs, how, and what everybody declares.
#include "fault_judgement.hpp"

#include <algorithm>

#include "switchyard/harness/declared_step.hpp"
#include "switchyard/harness/rank_masks.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

// How much later than its deadline a fault may be recorded: threads of a busy machine are not always running.
constexpr std::chrono::nanoseconds fault_slack = 2s;
// Of a prompt verdict, for what is seen without waiting for a deadline (DESIGN 2.5's flag latency, with room).
constexpr std::chrono::nanoseconds prompt_on_host = 100ms;
constexpr std::chrono::nanoseconds prompt_on_device = 1ms;
constexpr int share_of_deadline = 10;  // a prompt verdict may be late by a tenth

rank_set set_of(int rank) {
  rank_set set{};
  insert(set, rank);
  return set;
}

// The record must name this rank and no other.
bool names_exactly(const fault_record& record, int rank) {
  const bool none_missing = record.missing == rank_set{};
  const bool only_missing = record.missing == set_of(rank);
  return record.rank == rank ? none_missing || only_missing : record.rank < 0 && only_missing;
}

/// A phase of a case, counted from its first.
int place_of(int step, phase which) { return 2 * step + static_cast<int>(which); }

struct judged {
  const case_evidence& evidence;
  int rank;
  const fault_record& record;
  int steps_ended;

  [[nodiscard]] const case_spec& spec() const { return evidence.spec; }
  [[nodiscard]] bool by_notice() const { return record.from_notice != 0; }
  [[nodiscard]] int place() const { return place_of(steps_ended, record.phase); }
};

// Ranks run ahead by up to one phase, so a notice may find its reader still in the one before.
std::string place_problem(const judged& of, int due) {
  // An abort that is on its way to the device: nobody knows yet which phase it will find.
  if (of.record.code == fault_code::aborted && of.record.entered_ns == 0) return {};
  if (of.place() == due || (of.by_notice() && of.place() == due - 1)) return {};
  return "the fault was due in " + std::string(to_string(static_cast<phase>(due % 2))) + " of step " +
         std::to_string(due / 2);
}

// A rank in the phase of a mismatch has the other's header, or is about to, and with it both values.
std::string values_problem(const judged& of, const step_plan& plan, int due, step_field field) {
  const auto& record = of.record;
  if (record.field != field) return "the field must be " + std::string(to_string(field));
  if (field == step_field::rank_mask && of.rank == rank_left_out(of.spec())) {  // it gets no header from the odd one
    return of.by_notice() ? std::string() : "only the others can see it";
  }
  if (of.by_notice()) return of.place() == due ? "it must have both values, not hearsay" : std::string();
  const auto own = value_of(declared_by(of.spec(), plan, of.rank), field);
  if (record.expected != own) return "it must expect this rank's own value, " + std::to_string(own);
  const bool names_a_peer = record.rank >= 0 && record.rank < of.spec().ep_size && record.rank != of.rank;
  if (!names_a_peer || record.actual != value_of(declared_by(of.spec(), plan, record.rank), field)) {
    return "it must name a peer and that peer's value";
  }
  return record.actual == own ? "it must name a peer that declares another value" : std::string();
}

// Every rank passes its own T: the first step in which two differ.
std::string own_tokens_problem(const judged& of) {
  for (int step = 0; step < of.spec().steps; ++step) {
    const auto plan = make_step_plan(of.spec(), of.evidence.seed, step);
    if (!plan.ranks_disagree()) continue;
    const int due = place_of(step, phase::dispatch);
    auto problem = place_problem(of, due);
    return problem.empty() ? values_problem(of, plan, due, step_field::runtime_max_tokens_per_rank) : problem;
  }
  return "no step in which ranks disagree on T";
}

std::string missed_problem(const judged& of) {
  return names_exactly(of.record, of.spec().inject->rank)
             ? std::string()
             : "it must name exactly rank " + std::to_string(of.spec().inject->rank);
}

std::string named_problem(const judged& of) {
  const auto& fault = *of.spec().inject;
  return of.record.rank == fault.rank ? std::string() : "it must name rank " + std::to_string(fault.rank);
}

// A mask that cannot be is seen by its own rank, before anything is sent.
std::string bad_mask_problem(const judged& of) {
  const auto& fault = *of.spec().inject;
  const auto& record = of.record;
  if (record.rank != fault.rank) return "it must name rank " + std::to_string(fault.rank);
  if (record.field != step_field::rank_mask) return "the field must be rank_mask";
  if (of.rank != fault.rank) return of.by_notice() ? std::string() : "only the rank itself can see it";
  if (of.by_notice()) return "the rank must see it by itself";
  const auto legal = active_ranks_of(of.spec(), fault.step);
  const auto turned = spoiled_bits(of.spec());
  std::size_t word = 0;
  while (turned[word] == 0) ++word;
  const bool right = record.expected == legal[word] && record.actual == (legal[word] ^ turned[word]);
  return right ? std::string() : "it must have the mask as it was found and as it may be";
}

// A header that says otherwise than what its sender declares, which itself has nothing to find fault with.
std::string corruption_problem(const judged& of) {
  const auto& fault = *of.spec().inject;
  const auto& record = of.record;
  const bool of_routing = is_of_routing(fault.field);
  auto field = of_routing && fault.phase == phase::dispatch ? step_field::row_count : fault.field;
  // One word of the header has both.
  if (field == step_field::combine_hidden_size && fault.phase == phase::dispatch) field = step_field::eplb_stats_length;
  if (field == step_field::combine_dtype && fault.phase == phase::dispatch) field = step_field::instance;
  if (record.field != field) return "the field must be " + std::string(to_string(field));
  if (of.rank == fault.rank) return of.by_notice() ? std::string() : "only its peers can see it";
  if (of.by_notice()) {
    const bool sees_it = (record.code == fault_code::step_mismatch || record.code == fault_code::mask_changed) &&
                         !of_routing && of.place() == place_of(fault.step, fault.phase);
    return sees_it ? "it must have both values, not hearsay" : std::string();
  }
  if (field == step_field::none) return {};
  // A bit of the bitmap less or more is a row less or more than the header's count.
  const auto difference =
      record.expected > record.actual ? record.expected - record.actual : record.actual - record.expected;
  return difference == 1 ? std::string() : "the two values must differ by the one bit that was changed";
}

// The rank that errs is told, or sees for itself, at a place of its own.
std::string erring_place_problem(const judged& of, int due) {
  const auto& fault = *of.spec().inject;
  switch (fault.kind) {
    case fault_kind::skip: {                                                   // it runs the other phase instead
      const int instead = fault.phase == phase::dispatch ? due + 1 : due - 1;  // no step has ended in between
      return of.place() == instead && !of.by_notice() ? std::string() : "the rank must find itself out of order";
    }
    case fault_kind::corrupt:  // its own phase may have had all that it needs
      return of.place() == due || of.place() == due + 1 ? std::string() : place_problem(of, due);
    default: return of.place() == due ? std::string() : place_problem(of, due);
  }
}

std::string injected_problem(const judged& of) {
  const auto& fault = *of.spec().inject;
  const int due = place_of(fault.step, fault.phase);
  const auto place = of.rank == fault.rank ? erring_place_problem(of, due) : place_problem(of, due);
  if (!place.empty()) return place;
  switch (fault.kind) {
    case fault_kind::stop:
    case fault_kind::exit:
    case fault_kind::kill:
    case fault_kind::halt:
    case fault_kind::vanish:
    case fault_kind::late: return missed_problem(of);
    case fault_kind::abort:
    case fault_kind::skip:
    case fault_kind::misdirect: return named_problem(of);
    case fault_kind::corrupt: {
      auto named = named_problem(of);
      return named.empty() ? corruption_problem(of) : named;
    }
    case fault_kind::mask_off_self:
    case fault_kind::mask_past_end: return bad_mask_problem(of);
    case fault_kind::disagree: break;
  }
  if (of.rank != fault.rank && of.record.rank != fault.rank && !of.by_notice()) return named_problem(of);
  return values_problem(of, make_step_plan(of.spec(), of.evidence.seed, fault.step), due, fault.field);
}

std::string time_problem(const judged& of) {
  const auto& spec = of.spec();
  const auto took = time_to_verdict(of.evidence, of.rank);
  if (!took) return {};
  const std::chrono::nanoseconds deadline(of.record.timeout_ns);
  auto limit = deadline + fault_slack;
  if (spec.prompt_verdict) {
    limit = of.evidence.on_gpus ? prompt_on_device : prompt_on_host;
    if (of.record.code == fault_code::timeout) limit = deadline + deadline / share_of_deadline;
  }
  if (*took <= limit) return {};
  return "it came after " + std::to_string(took->count()) + " ns, must within " + std::to_string(limit.count());
}

std::string fault_problem(const judged& of) {
  const auto& spec = of.spec();
  if (spec.expected_fault == fault_code::none) return "a fault where none was due";
  if (of.record.code != spec.expected_fault) {
    return "the fault due was " + std::string(to_string(spec.expected_fault));
  }
  std::string problem;
  if (spec.runtime_max_tokens_from == runtime_max_rule::own_tokens) problem = own_tokens_problem(of);
  if (spec.inject) problem = injected_problem(of);
  return problem.empty() ? time_problem(of) : problem;
}

/// A rank whose own phase was all right may have no further one in which it could be told.
bool may_record_nothing(const case_spec& spec, int rank) {
  const auto& fault = spec.inject;
  return fault && fault->rank == rank && fault->kind == fault_kind::corrupt && fault->phase == phase::combine &&
         (fault->step + 1 == spec.steps || spec.recovers);
}

}  // namespace

bool owes_no_record(const case_spec& spec, int rank) {
  if (spec.inject && !contains(active_ranks_of(spec, spec.inject->step), rank)) return true;
  return spec.inject && spec.inject->rank == rank &&
         (spec.inject->kind == fault_kind::stop || spec.inject->kind == fault_kind::exit ||
          spec.inject->ends_process());
}

void judge_faults(const case_evidence& evidence, finding_log& log) {
  const auto& spec = evidence.spec;
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    const auto& outcome = evidence.outcomes[static_cast<std::size_t>(rank)];
    if (!outcome.done) continue;
    if (spec.inject && spec.inject->ends_process() && spec.inject->rank == rank) continue;  // it can tell nothing
    if (spec.lacks != lacking_room::nothing) {
      if (outcome.refused_steps == spec.steps || !outcome.error.empty()) continue;
      log.add({.verdict = verdict::wrong_fault,
               .step = outcome.refused_steps,
               .destination = rank,
               .buffer = "status",
               .detail = "not every dispatch was refused"});
      continue;
    }
    if (spec.recovers && outcome.error.empty() && outcome.steps_ended != spec.steps) {
      log.add({.verdict = verdict::wrong_fault,
               .step = outcome.steps_ended,
               .destination = rank,
               .buffer = "status",
               .detail = "the steps behind the fault did not all end"});
    }
    if (spec.inject && outcome.fault && !contains(active_ranks_of(spec, spec.inject->step), rank)) {
      log.add({.verdict = verdict::wrong_fault,
               .destination = rank,
               .buffer = "status",
               .detail = "a rank that is masked off is told of no fault: " + describe(*outcome.fault)});
    }
    if (owes_no_record(spec, rank)) continue;
    finding found{.verdict = verdict::wrong_fault,
                  .destination = rank,
                  .buffer = "status",
                  .expected = static_cast<std::uint64_t>(spec.expected_fault)};
    if (outcome.fault) {
      const int steps_ended = outcome.steps_before_fault.value_or(outcome.steps_ended);
      const std::string problem = fault_problem({evidence, rank, *outcome.fault, steps_ended});
      if (problem.empty()) continue;
      found.step = steps_ended;
      found.actual = static_cast<std::uint64_t>(outcome.fault->code);
      found.detail = problem + ": " + describe(*outcome.fault);
      log.add(std::move(found));
    } else if (spec.expected_fault != fault_code::none && outcome.error.empty()) {
      if (may_record_nothing(spec, rank)) continue;
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

std::optional<std::chrono::nanoseconds> time_to_verdict(const case_evidence& evidence, int rank) {
  const auto& mine = evidence.outcomes[static_cast<std::size_t>(rank)].fault;
  if (!mine) return std::nullopt;
  auto from = mine->entered_ns;
  if (mine->code != fault_code::timeout) {
    int about = evidence.spec.inject ? evidence.spec.inject->rank : mine->rank;
    if (about == rank) about = mine->rank == rank ? mine->origin : mine->rank;
    if (about < 0 || about >= evidence.spec.ep_size) return std::nullopt;
    if (!evidence.one_clock(rank, about)) {
      // On this rank's clock: its entry as its header told of it. A rank that sent none left no trace.
      const auto arrival = mine->arrival_ns.at(static_cast<std::size_t>(about));
      if (arrival == not_arrived) return std::nullopt;
      return std::chrono::nanoseconds(mine->waited_ns > arrival ? mine->waited_ns - arrival : 0);
    }
    const auto& theirs = evidence.outcomes[static_cast<std::size_t>(about)].fault;
    // Of an abort that is only on its way to the device nobody knows when it was.
    if (theirs && theirs->entered_ns == 0) return std::nullopt;
    if (theirs) from = std::max(from, theirs->entered_ns);
  }
  const auto recorded = mine->entered_ns + mine->waited_ns;
  return std::chrono::nanoseconds(recorded > from ? recorded - from : 0);
}

}  // namespace switchyard::harness
