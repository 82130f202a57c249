// SPDX-License-Identifier: Apache-2.0
// A case that faults says how, and one that says how must fault: anything else could never pass.
#include "case_faults.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/declared_step.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/harness/rank_masks.hpp"
#include "switchyard/harness/step_plan.hpp"

namespace switchyard::harness {
namespace {

constexpr std::array<std::string_view, 6> inject_fields{"inject.kind",  "inject.rank",  "inject.step",
                                                        "inject.phase", "inject.field", "inject.late_ms"};

fault_code fault_from_string(std::string_view word) {
  for (const auto code :
       {fault_code::timeout, fault_code::step_mismatch, fault_code::order_mismatch, fault_code::out_of_order,
        fault_code::bad_header, fault_code::aborted, fault_code::mask_changed, fault_code::bad_mask}) {
    if (word == to_string(code)) return code;
  }
  return fault_code::none;
}

step_field field_from_string(std::string_view word) {
  for (int number = 0; number <= static_cast<int>(step_field::routed_bitmap); ++number) {
    if (word == to_string(static_cast<step_field>(number))) return static_cast<step_field>(number);
  }
  return step_field::none;
}

bool is_of_combine(step_field field) {
  return field == step_field::combine_hidden_size || field == step_field::combine_dtype;
}

/// The payload whose rows are narrower at the odd rank.
std::optional<payload_kind> narrowed_payload(step_field field) {
  switch (field) {
    case step_field::hidden_states_row_bytes: return payload_kind::hidden_states;
    case step_field::topk_weights_row_bytes: return payload_kind::topk_weights;
    case step_field::hidden_states_scale_row_bytes: return payload_kind::hidden_states_scale;
    case step_field::extra_row_bytes: return payload_kind::extra;
    default: return std::nullopt;
  }
}

/// The odd mask lacks a rank; a third must be there, or the odd one goes on alone.
void check_odd_mask(const case_spec& spec, const injected_fault& fault, const settings_reader& from) {
  int active = 0;
  for (const auto word : active_ranks_of(spec, fault.step)) active += std::popcount(word);
  from.require(spec.enable_rank_mask, "inject.field", "needs enable_rank_mask");
  from.require(active >= 3 && spec.ep_size <= 32, "inject.field",
               "needs three ranks that take part, of at most 32: one of them leaves another out");
}

bool spoils_mask(const injected_fault& fault) {
  return fault.kind == fault_kind::mask_off_self || fault.kind == fault_kind::mask_past_end;
}

/// What a caller can declare otherwise than its peers without breaking a rule of its own call.
void check_disagreement(const case_spec& spec, const injected_fault& fault, const settings_reader& from) {
  const auto require = [&](bool holds, const std::string& rule) { from.require(holds, "inject.field", rule); };
  require(spec.variation == step_variation::fixed, "cannot go with variation vary, which draws what is declared");
  if (const auto narrowed = narrowed_payload(fault.field)) {
    return require(
        payload_row_bytes(spec, *narrowed, fault.step) >= 2,
        "needs rows of at least 2 bytes of " + std::string(to_string(*narrowed)) + ": one rank's are narrower");
  }
  switch (fault.field) {
    case step_field::runtime_max_tokens_per_rank:
      return require(largest_tokens_per_rank(spec) <= spec.params.max_tokens_per_rank &&
                         spec.runtime_max_tokens_from == runtime_max_rule::tokens,
                     "needs max_tokens_per_rank above T, of which one rank passes one more, and a T that is not drawn");
    case step_field::eplb_stats_length:
      return require(spec.eplb_stats > 0, "needs eplb_stats: one rank's are one less");
    case step_field::payload_set:
      return require(spec.topk_weights, "needs topk_weights: one rank does not declare them");
    case step_field::instance:
      return require(layers_left(spec, fault.step) >= 2, "needs two layers in inject.step: one rank runs the next one");
    case step_field::combine_hidden_size:
      return require(spec.params.hidden_size >= 2, "needs hidden_size of at least 2: one rank's is one less");
    case step_field::combine_dtype:
      return require(spec.params.dtype != dtype::fp32, "needs dtype bf16 or fp16: one rank passes the other of them");
    case step_field::rank_mask: return check_odd_mask(spec, fault, from);
    default:
      require(
          false,
          "must be one of runtime_max_tokens_per_rank, payload_set, hidden_states_row_bytes, "
          "topk_weights_row_bytes, hidden_states_scale_row_bytes, extra_row_bytes, "
          "eplb_stats_length, combine_hidden_size, combine_dtype, instance, rank_mask where ranks disagree: callers "
          "declare no more");
  }
}

void check_lateness(const case_spec& spec, const injected_fault& fault, const settings_reader& from) {
  const bool missed = spec.expected_fault == fault_code::timeout;
  constexpr std::chrono::milliseconds usual_warmup{10'000};
  auto deadline = spec.timeout;
  if (fault.step == 0 && spec.warmup_timeout.count() != 0) deadline = spec.warmup_timeout;
  if (fault.step == 0 && spec.warmup_timeout.count() == 0 && !missed) deadline = std::max(spec.timeout, usual_warmup);
  const auto text = std::to_string(deadline.count());
  from.require(missed || fault.late < deadline, "inject.late_ms",
               "must be below the deadline (" + text + " ms) where no fault is expected");
  from.require(!missed || fault.late > deadline, "inject.late_ms",
               "must be above the deadline (" + text + " ms) where a timeout is expected");
}

injected_fault read_injected(const case_spec& spec, const settings_reader& from) {
  from.require(from.has("inject.kind"), "inject.kind", "missing: it says what inject.rank does wrong");
  injected_fault fault;
  fault.kind = from.choice("inject.kind", all_fault_kinds, fault.kind);
  fault.rank = static_cast<int>(from.due("inject.rank"));
  fault.step = from.small("inject.step", 0);
  fault.field = field_from_string(from.word("inject.field", "none"));
  fault.late = std::chrono::milliseconds(from.integer("inject.late_ms").value_or(0));
  const bool disagrees = fault.kind == fault_kind::disagree;
  const auto otherwise = disagrees && is_of_combine(fault.field) ? phase::combine : phase::dispatch;
  fault.phase =
      from.word("inject.phase", to_string(otherwise)) == to_string(phase::combine) ? phase::combine : phase::dispatch;
  from.require(spec.ep_size >= 2, "ranks", "must be at least 2 where a rank errs: a peer has to notice");
  from.require(fault.rank < spec.ep_size, "inject.rank", "must be below ranks (" + std::to_string(spec.ep_size) + ")");
  from.require(fault.step < spec.steps, "inject.step", "must be below steps (" + std::to_string(spec.steps) + ")");
  from.require(disagrees || fault.kind == fault_kind::corrupt || !from.has("inject.field"), "inject.field",
               "goes with inject.kind disagree and corrupt only");
  from.require(!is_of_routing(fault.field) || spec.lamport == choice::off, "inject.field",
               "needs lamport off: headers of Lamport steps do not have it");
  for (const auto field : {step_field::eplb_stats_length, step_field::instance}) {
    from.require(fault.field != field || fault.phase == phase::dispatch, "inject.phase",
                 "must be dispatch, in which " + std::string(to_string(field)) + " is declared");
  }
  from.require((fault.kind == fault_kind::late) == from.has("inject.late_ms"), "inject.late_ms",
               "must be set where inject.kind is late, and only there");
  from.require(!disagrees || fault.phase == otherwise, "inject.phase",
               "must be " + std::string(to_string(otherwise)) + ", in which the field is declared");
  from.require(!spoils_mask(fault) || (spec.enable_rank_mask && fault.phase == phase::dispatch), "inject.kind",
               "needs enable_rank_mask, and is of dispatch, which looks at the mask");
  from.require(fault.kind != fault_kind::mask_past_end || spec.ep_size < max_ep_size, "ranks",
               "must be below " + std::to_string(max_ep_size) + ": there is no rank past the last of those");
  from.require(contains(active_ranks_of(spec, fault.step), fault.rank), "inject.rank",
               "must take part in inject.step: it is masked off there");
  from.require(fault.kind != fault_kind::skip || fault.phase == phase::dispatch || fault.step + 1 < spec.steps,
               "inject.step", "must be below the last step where combine is skipped: the next dispatch shows it");
  return fault;
}

}  // namespace

fault_code due_fault(const injected_fault& fault) noexcept {
  switch (fault.kind) {
    case fault_kind::stop:
    case fault_kind::exit:
    case fault_kind::kill:
    case fault_kind::halt:
    case fault_kind::vanish:
    case fault_kind::late: return fault_code::timeout;
    case fault_kind::abort: return fault_code::aborted;
    case fault_kind::skip: return fault_code::out_of_order;
    case fault_kind::misdirect: return fault_code::order_mismatch;
    case fault_kind::mask_off_self:
    case fault_kind::mask_past_end: return fault_code::bad_mask;
    case fault_kind::disagree:
      return fault.field == step_field::rank_mask ? fault_code::mask_changed : fault_code::step_mismatch;
    case fault_kind::corrupt: break;
  }
  const bool of_routing = is_of_routing(fault.field);
  // In dispatch a header contradicts itself; combine's is an echo, which contradicts what was sent.
  if (fault.field == step_field::rank_mask) return fault_code::mask_changed;
  const bool contradicts = fault.field == step_field::none || (of_routing && fault.phase == phase::dispatch);
  return contradicts ? fault_code::bad_header : fault_code::step_mismatch;
}

int step_behind(const injected_fault& fault) noexcept {
  const bool shows_later = fault.kind == fault_kind::skip && fault.phase == phase::combine;
  return fault.step + (shows_later ? 2 : 1);
}

void read_faults(case_spec& into, const settings_reader& from) {
  into.expected_fault = fault_from_string(from.word("expected_fault", "none"));
  into.prompt_verdict = from.flag("prompt_verdict", into.prompt_verdict);
  const bool due = into.expected_fault != fault_code::none;
  const bool errs =
      std::any_of(inject_fields.begin(), inject_fields.end(), [&](auto field) { return from.has(field); });
  from.require(due || !into.prompt_verdict, "prompt_verdict",
               "needs expected_fault: without a fault there is no verdict");
  into.recovers = from.flag("recover", into.recovers);
  into.leaves_out = from.flag("recover_without", into.leaves_out);
  from.require(!into.leaves_out || into.recovers, "recover_without", "needs recover");
  from.require(!into.leaves_out || into.enable_rank_mask, "recover_without",
               "needs enable_rank_mask: a group without masks recovers as a whole");
  from.require(!into.recovers || (errs && due), "recover",
               "needs inject and expected_fault: there is nothing else to recover from");
  if (into.runtime_max_tokens_from == runtime_max_rule::own_tokens) {
    from.require(!errs, "runtime_max_tokens_from", "cannot go with inject: one fault a case");
    from.require(into.expected_fault == fault_code::step_mismatch, "expected_fault",
                 "must be step_mismatch where every rank passes its own tokens as runtime_max_tokens");
    return;
  }
  from.require(errs || !due, "expected_fault",
               "needs inject, or runtime_max_tokens_from own_tokens: nothing else makes a case fault");
  if (!errs) return;
  const auto fault = read_injected(into, from);
  const bool may_be_tolerated = fault.kind == fault_kind::late && !due;
  from.require(may_be_tolerated || into.expected_fault == due_fault(fault), "expected_fault",
               "must be " + std::string(to_string(due_fault(fault))) + " where a rank does this (inject.kind " +
                   std::string(to_string(fault.kind)) + "): that is what its peers record");
  into.inject = fault;
  from.require(!into.recovers || into.leaves_out || (fault.kind != fault_kind::exit && !fault.ends_process()),
               "recover",
               "cannot go with inject.kind exit, kill, halt and vanish but where recover_without is set: what has been "
               "destroyed "
               "does not come back");
  from.require(!into.masked_from || !(into.recovers || into.rejoin_step), "masked_from",
               "cannot go with inject where ranks recover, which brings back who was masked off");
  from.require(!into.recovers || step_behind(fault) < into.steps, "recover", "needs a step behind the fault");
  if (fault.kind == fault_kind::disagree) check_disagreement(into, fault, from);
  if (fault.kind == fault_kind::late) check_lateness(into, fault, from);
}

void read_masks(case_spec& into, const settings_reader& from) {
  into.enable_rank_mask = from.flag("enable_rank_mask", into.enable_rank_mask);
  into.masked_from = from.counts("masked_from", into.ep_size);
  if (from.has("rejoin_step")) into.rejoin_step = static_cast<int>(from.due("rejoin_step"));
  from.require(into.enable_rank_mask || !into.masked_from, "masked_from", "needs enable_rank_mask");
  from.require(into.masked_from || !into.rejoin_step, "rejoin_step", "needs masked_from: else nobody was away");
  if (!into.masked_from) return;
  from.require(into.masked_from->steps() == 1, "masked_from", "must have one step: it says itself from which step on");
  from.require(into.masked_from->largest() >= into.rejoin_step.value_or(into.steps), "masked_from",
               "needs a rank that stays: one whose step is past the last, or not before rejoin_step");
  from.require(!into.rejoin_step || *into.rejoin_step < into.steps, "rejoin_step",
               "must be below steps (" + std::to_string(into.steps) + ")");
  from.require(into.runtime_max_tokens_from != runtime_max_rule::own_tokens, "masked_from",
               "cannot go with runtime_max_tokens_from own_tokens: who disagrees depends on who is there");
}

}  // namespace switchyard::harness
