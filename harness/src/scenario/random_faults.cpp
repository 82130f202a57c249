// SPDX-License-Identifier: Apache-2.0
// What one rank of a drawn case does wrong.
#include <algorithm>
#include <array>
#include <vector>

#include "random_draft.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/declared_step.hpp"
#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {
namespace {

template <typename Value>
Value setting_of(const random_draft& draft, std::string_view field, Value otherwise) {
  const auto found = draft.settings.find(field);
  return found == draft.settings.end() ? otherwise : std::get<Value>(found->second.value);
}

/// The fields on which one rank of this case can disagree with the others.
std::vector<step_field> fields_to_disagree_on(const random_draft& draft) {
  std::vector<step_field> fields;
  const auto fixed = std::string(to_string(step_variation::fixed));
  if (setting_of(draft, "variation", fixed) != fixed) return fields;
  const auto& shape = draft.shape;
  comm_params params;
  params.hidden_size = shape.hidden_size;
  params.dtype = shape.dtype;
  params.dispatch_format = shape.dispatch_format;
  const auto bytes = params.dispatch_bytes();
  const auto add = [&](bool possible, step_field field) {
    if (possible) fields.push_back(field);
  };
  const bool weights = setting_of(draft, "topk_weights", true);
  add(bytes.hidden_states >= 2, step_field::hidden_states_row_bytes);
  add(bytes.hidden_states_scale >= 2, step_field::hidden_states_scale_row_bytes);
  add(weights, step_field::topk_weights_row_bytes);
  add(weights, step_field::payload_set);
  add(shape.extra_bytes >= 2, step_field::extra_row_bytes);
  add(shape.eplb_stats > 0, step_field::eplb_stats_length);
  add(shape.hidden_size >= 2, step_field::combine_hidden_size);
  add(shape.dtype != dtype::fp32, step_field::combine_dtype);
  const bool says_tokens = draft.settings.contains("runtime_max_tokens");
  const auto stride = setting_of(draft, "runtime_max_tokens", std::int64_t{0});
  const auto capacity = setting_of(draft, "max_tokens_per_rank", std::int64_t{0});
  add(says_tokens && stride < capacity, step_field::runtime_max_tokens_per_rank);
  add(setting_of(draft, "enable_rank_mask", false) && shape.ranks >= 3, step_field::rank_mask);
  return fields;
}

void draw_injection(random_draft& draft) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  injected_fault fault;
  fault.kind = random.one_of(thread_fault_kinds);
  const auto fields = fields_to_disagree_on(draft);
  if (fault.kind == fault_kind::disagree && fields.empty()) fault.kind = fault_kind::stop;
  const bool spoils_mask = fault.kind == fault_kind::mask_off_self || fault.kind == fault_kind::mask_past_end;
  if (spoils_mask) draft.set("enable_rank_mask", true);
  const bool skips = fault.kind == fault_kind::skip;
  const bool early = skips && shape.steps == 1;
  if (early || spoils_mask || random.chance(1, 3)) {
    fault.phase = phase::dispatch;
  } else {
    fault.phase = phase::combine;
  }
  const auto last = shape.steps - (skips && fault.phase == phase::combine ? 2 : 1);

  draft.set_word("inject.kind", to_string(fault.kind));
  draft.set("inject.rank", random.number(0, shape.ranks - 1, {0, shape.ranks - 1}));
  if (random.chance(2, 3)) draft.set("inject.step", random.number(0, last, {0, 1, last}));
  if (fault.kind == fault_kind::disagree) {
    fault.field = fields.at(static_cast<std::size_t>(random.evenly(0, static_cast<std::int64_t>(fields.size()) - 1)));
  } else {
    draft.set_word("inject.phase", to_string(fault.phase));
  }
  if (fault.kind == fault_kind::corrupt) {
    fault.field = static_cast<step_field>(random.evenly(0, static_cast<std::int64_t>(step_field::routed_bitmap)));
    if (fault.phase == phase::combine) {  // whose words they are there
      if (fault.field == step_field::eplb_stats_length) fault.field = step_field::combine_hidden_size;
      if (fault.field == step_field::instance) fault.field = step_field::combine_dtype;
    }
    if (is_of_routing(fault.field)) draft.set_word("lamport", to_string(choice::off));
  }
  if (fault.kind == fault_kind::disagree || fault.kind == fault_kind::corrupt) {
    draft.set_word("inject.field", to_string(fault.field));
  }
  fault.step = static_cast<int>(setting_of(draft, "inject.step", std::int64_t{0}));
  const bool can_recover = step_behind(fault) < shape.steps;
  const bool says_recover = can_recover && random.chance(2, 3);
  const bool recovers = says_recover && random.chance(3, 4);
  // What has been destroyed does not come back.
  const bool leaves_out = recovers && (fault.kind == fault_kind::exit || random.chance(1, 3));
  if (says_recover) draft.set("recover", recovers);
  if (leaves_out || (recovers && random.chance(1, 4))) draft.set("recover_without", leaves_out);
  if (leaves_out) draft.set("enable_rank_mask", true);
  const auto due = due_fault(fault);
  draft.set_word("expected_fault", to_string(due));
  if (due != fault_code::timeout) return;
  // Short, because the case waits for all of it; long enough for the threads of a busy machine to be run in between.
  constexpr std::array<std::int64_t, 3> short_ms{500, 600, 800};
  const auto timeout = random.one_of(short_ms);
  draft.set("timeout_ms", timeout);
  if (fault.kind == fault_kind::late) draft.set("inject.late_ms", timeout + 400);
}

}  // namespace

void draw_fault(random_draft& draft) {
  switch (draft.fault) {
    case drawn_fault::none:
      if (draft.random.chance(1, 8)) draft.set_word("expected_fault", to_string(fault_code::none));
      break;
    case drawn_fault::injected: draw_injection(draft); break;
    case drawn_fault::own_tokens: draft.set_word("expected_fault", to_string(fault_code::step_mismatch)); break;
  }
}

}  // namespace switchyard::harness
