// SPDX-License-Identifier: Apache-2.0
// Draws whole cases: sizes first (random_shape.hpp), then what happens inside of them.
#include "switchyard/harness/random_cases.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "random_draft.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/harness/scenario_fields.hpp"
#include "switchyard/harness/sweep.hpp"
#include "switchyard/reference/quantise.hpp"

namespace switchyard::harness {
namespace {

constexpr std::int64_t last_epoch = 0xFFFFFFFF;

void set_shape(random_draft& draft) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  draft.set("ranks", shape.ranks);
  draft.set("num_experts", shape.experts);
  draft.set("top_k", shape.top_k);
  draft.set("hidden_size", shape.hidden_size);
  if (shape.dtype != dtype::bf16 || random.chance(1, 4)) draft.set_word("dtype", to_string(shape.dtype));
  if (shape.dispatch_format) draft.set_word("dispatch_format", to_string(*shape.dispatch_format));
  if (shape.extra_bytes > 0 || random.chance(1, 8)) draft.set("extra_bytes", shape.extra_bytes);
  if (shape.eplb_stats > 0 || random.chance(1, 8)) draft.set("eplb_stats", shape.eplb_stats);
  draft.set("steps", shape.steps);
}

void draw_values(random_draft& draft) {
  auto& random = draft.random;
  if (random.chance(1, 3)) draft.set("topk_weights", random.chance(1, 4));
  if (random.chance(1, 4)) draft.set_word("experts", to_string(random.one_of(reference::all_expert_laws)));
  if (random.chance(1, 3)) {
    comm_params params;
    params.dtype = draft.shape.dtype;
    params.dispatch_format = draft.shape.dispatch_format;
    auto values = random.one_of(all_hidden_values);
    if (values == hidden_values::nan_rows && !rows_are_elements(params)) values = hidden_values::bits;
    draft.set_word("values", to_string(values));
  }
}

void draw_first_epoch(random_draft& draft) {
  auto& random = draft.random;
  if (random.chance(1, 2)) {
    draft.set("first_epoch", random.number(1, last_epoch / 2, {1, 2}));
    return;
  }
  // The end of the range, where the epoch wraps, and the middle, where its sign bit turns.
  const auto phases = 2 * draft.shape.steps;
  const std::array<std::int64_t, 6> ends{last_epoch,          last_epoch - 1, last_epoch - 4,
                                         last_epoch - phases, last_epoch / 2, last_epoch / 2 - phases / 2};
  draft.set("first_epoch", random.one_of(ends));
}

/// A bound near the strides that steps have, so that they go to and fro between transports.
void draw_transport(random_draft& draft) {
  auto& random = draft.random;
  if (random.chance(1, 3)) draft.set_word("lamport", to_string(random.one_of(all_uses)));
  if (!random.chance(1, 2)) return;
  const auto capacity = draft.shape.capacity;
  draft.set("lamport_max_tokens",
            random.number(1, capacity + 1, {1, capacity / 2, capacity - 1, capacity, capacity + 1}));
}

/// Who is masked off from when on, and whether they come back. A case that must fault has all its ranks.
void draw_masks(random_draft& draft) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  if (!random.chance(1, 3)) return;
  const bool enabled = random.chance(7, 8);
  draft.set("enable_rank_mask", enabled);
  if (!enabled || shape.fault_due || !random.chance(2, 3)) return;
  const bool rejoins = shape.steps >= 2 && random.chance(1, 3);
  const auto rejoin_step = rejoins ? random.number(1, shape.steps - 1, {1, shape.steps - 1}) : shape.steps;
  const auto stays = random.evenly(0, shape.ranks - 1);
  std::string steps;
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    const auto from = rank == stays || random.chance(1, 3) ? shape.steps : random.number(0, shape.steps, {0, 1, 2});
    steps += (rank > 0 ? ":" : "") + std::to_string(from);
  }
  draft.set_word("masked_from", steps);
  if (rejoins) draft.set("rejoin_step", rejoin_step);
}

/// Whether layers can have formats of their own.
bool layers_may_differ(const random_draft& draft) {
  const auto word_of = [&](std::string_view field) {
    const auto found = draft.settings.find(field);
    return found == draft.settings.end() ? std::string() : std::get<std::string>(found->second.value);
  };
  const auto format = draft.shape.dispatch_format;
  return format && formats_within(*format, draft.shape.hidden_size) >= 2 &&
         word_of("values") != to_string(hidden_values::nan_rows) &&
         word_of("inject.kind") != to_string(fault_kind::disagree);  // on rows that another format may not have
}

/// Layers that share a workspace, that are destroyed one after another, and whose memory goes and comes.
void draw_layers(random_draft& draft) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  const bool exits = draft.settings.contains("inject.kind") &&
                     std::get<std::string>(draft.settings.at("inject.kind").value) == to_string(fault_kind::exit);
  const auto layers = random.chance(1, 4) && !exits ? random.number(1, 6, {1, 2, 3}) : 1;
  if (layers > 1 || random.chance(1, 8)) draft.set("layers", layers);
  const auto some_steps = [&] { return shape.steps > 1 ? random.number(0, shape.steps - 1, {0, 1, 2}) : 0; };
  if (layers > 1 && random.chance(1, 2)) draft.set("retire_every", some_steps());
  if (!shape.fault_due && random.chance(1, 4)) draft.set("checkpoint_every", some_steps());
  if (!shape.fault_due && random.chance(1, 8)) draft.set("side_workspace_every", random.number(0, shape.steps, {1, 2}));
  if (layers > 1 && random.chance(1, 2) && layers_may_differ(draft)) {
    draft.set_word("layer_formats", to_string(random.one_of(all_layer_format_rules)));
  }
}

void draw_low_precision(random_draft& draft) {
  auto& random = draft.random;
  if (random.chance(1, 3)) draft.set_word("low_precision_combine", to_string(random.one_of(all_low_precisions)));
}

void draw_run(random_draft& draft) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  draw_transport(draft);
  draw_masks(draft);
  if (random.chance(2, 3)) draft.set("blocks", random.number(1, 8, {1, 2, 3}));
  if (shape.workers > 1 || random.chance(1, 4)) draft.set("workers", shape.workers);
  if (random.chance(1, 2)) draw_first_epoch(draft);
  if (!shape.fault_due && random.chance(1, 4)) {
    constexpr std::array<std::int64_t, 3> patient_ms{10'000, 20'000, 60'000};  // a busy machine must not cause faults
    draft.set("timeout_ms", random.one_of(patient_ms));
    if (random.chance(1, 4)) draft.set("warmup_timeout_ms", random.one_of(patient_ms));
  }
  if (random.chance(1, 4)) {
    const auto most = draft.limits.max_late_us;
    const auto share = std::clamp<std::int64_t>(20 * most / (2 * shape.steps), std::min<std::int64_t>(1, most), most);
    draft.set("late_us", random.number(0, share, {0, 1, share}));
    if (random.chance(1, 3)) draft.set("late_rank", random.number(0, shape.ranks - 1, {0, shape.ranks - 1}));
  }
}

/// Now and then workspaces that are too small for the case, which itself is an ordinary one.
void draw_lacking_room(random_draft& draft) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  if (!random.chance(1, 16)) return;
  const auto variation = draft.settings.find("variation");
  const bool varies = variation != draft.settings.end() &&
                      std::get<std::string>(variation->second.value) == to_string(step_variation::vary);
  std::vector<lacking_room> possible{lacking_room::nothing};
  const bool plain = !draft.settings.contains("layers") && !draft.settings.contains("checkpoint_every") &&
                     !draft.settings.contains("side_workspace_every");
  if (!shape.fault_due && !varies && plain && !draft.settings.contains("rejoin_step")) {
    const bool four_bit = shape.dispatch_format && reference::is_four_bit(*shape.dispatch_format);
    const bool scales = shape.dispatch_format && reference::elements_per_scale(*shape.dispatch_format) != 0;
    if (!four_bit && shape.hidden_size >= 2) possible.push_back(lacking_room::hidden_states);
    // The workspace has rows of 8 bits instead, which may be more than the limits allow a format of 4.
    if (!four_bit && scales) possible.push_back(lacking_room::hidden_states_scale);
    if (shape.extra_bytes > 0) possible.push_back(lacking_room::extra);
    if (shape.eplb_stats > 0) possible.push_back(lacking_room::eplb_stats);
  }
  draft.set_word("lacks_room_for", to_string(random.one_of(possible)));
}

}  // namespace

suite random_suite() {
  const std::string name(random_suite_name);
  scenario drawn;
  drawn.name = random_scenario_name;
  drawn.sentence = "Whatever its case id says.";
  drawn.tags = {"random"};
  drawn.place = {"case id of random/drawn, which sets nothing by itself (--random N draws cases)", ""};
  suite all;
  all.name = name;
  all.description = "Drawn cases: the case id sets every field.";
  all.file = "no file";
  all.scenarios.push_back(std::move(drawn));
  return all;
}

field_settings draw_settings(std::uint64_t seed, std::uint64_t number, const random_limits& limits) {
  random_draft draft(key_of({seed, number, 0x72616E646F6DULL}), limits);
  if (draft.shape.fault_due) {
    const bool can_disagree = draft.shape.capacity >= 2;  // 0 and 1 tokens make the same stride
    draft.fault = can_disagree && draft.random.chance(1, 2) ? drawn_fault::own_tokens : drawn_fault::injected;
  }
  set_shape(draft);
  draw_tokens(draft);
  draw_routing(draft);
  draw_values(draft);
  draw_run(draft);
  draw_fault(draft);
  draw_layers(draft);
  draw_low_precision(draft);
  draw_lacking_room(draft);
  return std::move(draft.settings);
}

case_spec random_case_of(const field_settings& settings) {
  case_address address{std::string(random_suite_name), std::string(random_scenario_name), {}};
  for (const auto& [field, setting] : settings) address.settings.emplace_back(field, to_text(setting.value));
  return expand_one(random_suite(), address, {});
}

field_settings random_settings_of(const std::string& id) {
  const auto address = parse_case_id(id);
  if (address.suite != random_suite_name || address.scenario != random_scenario_name) {
    throw input_error("case id " + id + ": must be " + std::string(random_suite_name) + '/' +
                      std::string(random_scenario_name) + "@...");
  }
  field_settings settings;
  for (const auto& [field, text] : address.settings) {
    const input_place place{"case id", "@" + field};
    const auto* rule = find_field(field);
    if (rule == nullptr) refuse(place, text, "unknown field");
    auto value = field_value_from_text(*rule, text);
    if (!value) refuse(place, text, describe(*rule));
    settings.emplace(field, field_setting{*std::move(value), place});
  }
  return settings;
}

case_spec draw_case(std::uint64_t seed, std::uint64_t number, const random_limits& limits) {
  return random_case_of(draw_settings(seed, number, limits));
}

std::vector<case_spec> draw_cases(std::uint64_t seed, std::uint64_t count, const random_limits& limits) {
  std::vector<case_spec> cases;
  for (std::uint64_t number = 0; number < count; ++number) cases.push_back(draw_case(seed, number, limits));
  return cases;
}

}  // namespace switchyard::harness
