// SPDX-License-Identifier: Apache-2.0
// One case out of the settings of its fields.
#include "case_from_settings.hpp"

#include <algorithm>
#include <array>

#include "case_faults.hpp"
#include "case_routing.hpp"
#include "case_tokens.hpp"
#include "case_trace.hpp"
#include "settings_reader.hpp"
#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/reference/quantise.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

constexpr std::array<std::string_view, 5> shape_fields{"num_experts", "top_k", "hidden_size", "dtype",
                                                       "dispatch_format"};

void read_shape(case_spec& into, const settings_reader& from, const model_profiles& profiles) {
  auto& params = into.params;
  if (from.has("profile")) {
    into.profile = from.word("profile", "");
    const auto found = profiles.find(into.profile);
    if (found == profiles.end()) {
      std::string names;
      for (const auto& [name, unused] : profiles) names += (names.empty() ? "" : ", ") + name;
      from.reject("profile", "must be one of " + names);
    }
    for (const auto field : shape_fields) {
      from.require(!from.has(field), field, "cannot be set beside a profile, which sets it");
    }
    const auto& profile = found->second;
    params.num_experts = profile.num_experts;
    params.top_k = profile.top_k;
    params.hidden_size = profile.hidden_size;
    params.dtype = profile.dtype;
    params.dispatch_format = profile.dispatch_format;
    return;
  }
  const bool any = std::any_of(shape_fields.begin(), shape_fields.end(), [&](auto field) { return from.has(field); });
  from.require(any, "profile", "missing: a scenario has a profile, or num_experts, top_k and hidden_size");
  params.num_experts = from.due("num_experts");
  params.top_k = from.due("top_k");
  params.hidden_size = from.due("hidden_size");
  params.dtype = dtype_from_string(from.word("dtype", "bf16")).value();
  if (from.has("dispatch_format")) {
    params.dispatch_format = dispatch_format_from_string(from.word("dispatch_format", ""));
  }
}

void check_shape(const case_spec& spec, const settings_reader& from) {
  const auto& params = spec.params;
  const auto experts = std::to_string(params.num_experts);
  from.require(params.top_k <= params.num_experts, "top_k", "must be at most num_experts (" + experts + ")");
  from.require(spec.ep_size <= params.num_experts, "ranks",
               "must be at most num_experts (" + experts + "): every rank owns an expert");
}

void read_values(case_spec& into, const settings_reader& from) {
  into.values = from.choice("values", all_hidden_values, into.values);
  into.experts = from.choice("experts", reference::all_expert_laws, into.experts);
  from.require(into.values != hidden_values::nan_rows || rows_are_elements(into.params), "values",
               "needs hidden states of bf16, fp16 or fp32: not every format with scales has NaNs");
}

void read_lateness(case_spec& into, const settings_reader& from) {
  into.late.at_most = std::chrono::microseconds(from.integer("late_us").value_or(0));
  if (!from.has("late_rank")) return;
  from.require(from.has("late_us"), "late_us", "missing: late_rank says who sleeps, late_us how long at most");
  into.late.rank = static_cast<int>(from.due("late_rank"));
  from.require(*into.late.rank < into.ep_size, "late_rank",
               "must be below ranks (" + std::to_string(into.ep_size) + ")");
}

void check_layer_formats(const case_spec& spec, const settings_reader& from) {
  if (spec.layer_formats == layer_format_rule::same) return;
  const auto format = spec.params.dispatch_format;
  const auto require = [&](bool holds, const std::string& rule) { from.require(holds, "layer_formats", rule); };
  require(spec.layers >= 2, "needs two layers, which have different ones");
  require(format && formats_within(*format, spec.params.hidden_size) >= 2,
          "needs a dispatch_format whose rows and scales have room for those of another");
  require(spec.values != hidden_values::nan_rows, "cannot go with values nan_rows: not every format has NaNs");
}

void read_layers(case_spec& into, const settings_reader& from) {
  into.layers = from.small("layers", into.layers);
  into.retire_every = from.small("retire_every", into.retire_every);
  into.checkpoint_every = from.small("checkpoint_every", into.checkpoint_every);
  into.layer_formats = from.choice("layer_formats", all_layer_format_rules, into.layer_formats);
  into.side_workspace_every = from.small("side_workspace_every", into.side_workspace_every);
  const auto steps = std::to_string(into.steps);
  from.require(into.retire_every == 0 || into.layers >= 2, "retire_every", "needs two layers: the last one stays");
  from.require(into.retire_every < into.steps, "retire_every", "must be below steps (" + steps + ")");
  from.require(into.checkpoint_every < into.steps, "checkpoint_every", "must be below steps (" + steps + ")");
  from.require(into.side_workspace_every <= into.steps, "side_workspace_every",
               "must be at most steps (" + steps + ")");
  check_layer_formats(into, from);
}

/// What is done to workspaces between steps goes with some faults only.
void check_layers(const case_spec& spec, const settings_reader& from) {
  const bool faults = spec.inject || spec.expected_fault != fault_code::none;
  from.require(spec.checkpoint_every == 0 || !faults, "checkpoint_every",
               "cannot go with a fault: only workspaces without one give their memory back");
  from.require(spec.side_workspace_every == 0 || !faults, "side_workspace_every",
               "cannot go with a fault: what ranks left of it in their layers would not be told apart");
  from.require(spec.layers == 1 || !spec.inject || spec.inject->kind != fault_kind::exit, "layers",
               "must be 1 where a rank exits, which is to leave nothing of its own");
}

/// There must be something that does not fit, and nothing else may go wrong.
void read_lacking_room(case_spec& into, const settings_reader& from) {
  into.lacks = from.choice("lacks_room_for", all_lacking_rooms, into.lacks);
  const auto require = [&](bool holds, const std::string& rule) { from.require(holds, "lacks_room_for", rule); };
  const auto format = into.params.dispatch_format;
  switch (into.lacks) {
    case lacking_room::nothing: return;
    case lacking_room::hidden_states:
      require(!format || !reference::is_four_bit(*format), "needs a format of more than 4 bits: there is none smaller");
      require(into.params.hidden_size >= 2, "needs hidden_size of at least 2: one element of 4 bits has a byte too");
      break;
    case lacking_room::hidden_states_scale:
      require(format && reference::elements_per_scale(*format) != 0, "needs a dispatch_format with scales");
      break;
    case lacking_room::extra: require(into.extra_bytes > 0, "needs extra_bytes"); break;
    case lacking_room::eplb_stats: require(into.eplb_stats > 0, "needs eplb_stats"); break;
  }
  require(into.expected_fault == fault_code::none && !into.inject, "cannot go with a fault: no step is ever run");
  require(into.layers == 1 && into.checkpoint_every == 0 && into.side_workspace_every == 0,
          "needs one layer, no checkpoint_every and no side_workspace_every");
  require(into.launch == launch_mode::eager && into.variation == step_variation::fixed && !into.rejoin_step,
          "needs launch eager, variation fixed and no rejoin_step");
}

/// Every field may be within its bounds and the whole beyond what the library takes.
void check_size(const case_spec& spec, const settings_reader& from) {
  try {
    static_cast<void>(required_bytes(spec));
  } catch (const invalid_argument& problem) {
    from.reject("max_tokens_per_rank", problem.what());
  }
}

}  // namespace

case_spec case_from_settings(const suite& from, const scenario& which, const std::string& id,
                             const field_settings& settings, const model_profiles& profiles) {
  const settings_reader reader(which, id, settings);
  case_spec spec;
  spec.suite = from.name;
  spec.name = which.name;
  spec.id = id;
  spec.tags = which.tags;
  spec.ep_size = static_cast<int>(reader.due("ranks"));
  spec.variation = reader.choice("variation", all_step_variations, spec.variation);
  read_shape(spec, reader, profiles);
  check_shape(spec, reader);
  read_trace(spec, reader, from);
  spec.steps = reader.small("steps", spec.steps);
  read_tokens(spec, reader);
  read_routing(spec, reader);
  spec.topk_weights = reader.flag("topk_weights", spec.topk_weights);
  spec.extra_bytes = static_cast<std::size_t>(reader.integer("extra_bytes").value_or(0));
  spec.eplb_stats = reader.integer("eplb_stats").value_or(0);
  reader.require(spec.eplb_stats <= spec.params.num_experts, "eplb_stats",
                 "must be at most num_experts (" + std::to_string(spec.params.num_experts) + ")");
  spec.launch = reader.choice("launch", all_launch_modes, spec.launch);
  spec.lamport = reader.choice("lamport", all_uses, spec.lamport);
  spec.lamport_max_tokens = reader.integer("lamport_max_tokens").value_or(spec.lamport_max_tokens);
  spec.low_precision_combine = reader.choice("low_precision_combine", all_low_precisions, spec.low_precision_combine);
  spec.blocks = reader.small("blocks", spec.blocks);
  spec.workers = reader.small("workers", spec.workers);
  spec.first_epoch = static_cast<std::uint32_t>(reader.integer("first_epoch").value_or(spec.first_epoch));
  spec.timeout = std::chrono::milliseconds(reader.integer("timeout_ms").value_or(spec.timeout.count()));
  spec.warmup_timeout =
      std::chrono::milliseconds(reader.integer("warmup_timeout_ms").value_or(spec.warmup_timeout.count()));
  read_values(spec, reader);
  read_lateness(spec, reader);
  read_masks(spec, reader);
  read_layers(spec, reader);
  read_faults(spec, reader);
  check_layers(spec, reader);
  read_lacking_room(spec, reader);
  check_size(spec, reader);
  return spec;
}

}  // namespace switchyard::harness
