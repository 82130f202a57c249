// SPDX-License-Identifier: Apache-2.0
// The table of fields that scenarios may set or sweep.
#include "switchyard/harness/scenario_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {
namespace {

// Words come from the to_string functions of what they name, so that they cannot drift from it.
constexpr std::array dtype_words{to_string(dtype::bf16), to_string(dtype::fp16), to_string(dtype::fp32)};
constexpr auto format_words = words_of(all_dispatch_formats);
constexpr std::array phase_words{to_string(phase::dispatch), to_string(phase::combine)};
constexpr std::array fault_words{
    to_string(fault_code::none),           to_string(fault_code::timeout),      to_string(fault_code::step_mismatch),
    to_string(fault_code::order_mismatch), to_string(fault_code::out_of_order), to_string(fault_code::bad_header),
    to_string(fault_code::aborted),        to_string(fault_code::mask_changed), to_string(fault_code::bad_mask)};
constexpr std::array step_field_words{to_string(step_field::none),
                                      to_string(step_field::runtime_max_tokens_per_rank),
                                      to_string(step_field::payload_set),
                                      to_string(step_field::hidden_states_row_bytes),
                                      to_string(step_field::topk_ids_row_bytes),
                                      to_string(step_field::topk_weights_row_bytes),
                                      to_string(step_field::hidden_states_scale_row_bytes),
                                      to_string(step_field::extra_row_bytes),
                                      to_string(step_field::eplb_stats_length),
                                      to_string(step_field::transport),
                                      to_string(step_field::chunk_tokens),
                                      to_string(step_field::combine_hidden_size),
                                      to_string(step_field::combine_dtype),
                                      to_string(step_field::instance),
                                      to_string(step_field::incarnation),
                                      to_string(step_field::rank_mask),
                                      to_string(step_field::row_count),
                                      to_string(step_field::routed_bitmap)};
constexpr auto fault_kind_words = words_of(all_fault_kinds);
constexpr auto routing_words = words_of(all_routing_laws);
constexpr auto variation_words = words_of(all_step_variations);
constexpr auto runtime_max_words = words_of(all_runtime_max_rules);
constexpr auto value_words = words_of(all_hidden_values);
constexpr auto launch_words = words_of(all_launch_modes);
constexpr auto low_precision_words = words_of(all_low_precisions);
constexpr auto use_words = words_of(all_uses);
constexpr auto layer_format_words = words_of(all_layer_format_rules);
constexpr auto room_words = words_of(all_lacking_rooms);
constexpr std::array expert_words{to_string(reference::expert_law::scaled), to_string(reference::expert_law::identity)};

// Bounds that the library does not set keep byte counts far from 2^63: 256 ranks * 2^20 tokens * 2^22 bytes is 2^50.
constexpr std::int64_t many = std::int64_t{1} << 20;
constexpr std::int64_t max_threads = 256;  // host_stream's own bound
constexpr std::int64_t day_ms = std::int64_t{24} * 3600 * 1000;

constexpr field_rule integer(std::string_view name, std::int64_t min, std::int64_t max) {
  return {name, field_kind::integer, min, max, {}};
}
constexpr field_rule word(std::string_view name, std::span<const std::string_view> words) {
  return {name, field_kind::word, 0, 0, words};
}

constexpr field_rule counts(std::string_view name) { return {name, field_kind::counts, 0, 0, {}}; }

constexpr std::array rules{
    integer("blocks", 1, max_threads),
    integer("checkpoint_every", 0, many),
    word("dispatch_format", format_words),
    word("dtype", dtype_words),
    integer("duplicate_percent", 0, 100),
    integer("empty_ranks", 0, max_ep_size - 1),
    field_rule{"enable_rank_mask", field_kind::boolean, 0, 0, {}},
    integer("eplb_stats", 0, many),
    word("expected_fault", fault_words),
    integer("expert_groups", 1, most_expert_groups),
    word("experts", expert_words),
    integer("extra_bytes", 0, many),
    integer("first_epoch", 1, std::numeric_limits<std::uint32_t>::max()),
    integer("groups_per_token", 1, most_expert_groups),
    integer("hidden_size", 1, many),
    integer("hot_expert", 0, many - 1),
    integer("hot_percent", 0, 100),
    integer("hot_rank", 0, max_ep_size - 1),
    word("inject.field", step_field_words),
    word("inject.kind", fault_kind_words),
    integer("inject.late_ms", 1, day_ms),
    word("inject.phase", phase_words),
    integer("inject.rank", 0, max_ep_size - 1),
    integer("inject.step", 0, many),
    integer("invalid_percent", 0, 100),
    word("lacks_room_for", room_words),
    word("lamport", use_words),
    integer("lamport_max_tokens", 1, many),
    integer("late_rank", 0, max_ep_size - 1),
    integer("late_us", 0, 60'000'000),
    word("launch", launch_words),
    word("layer_formats", layer_format_words),
    integer("layers", 1, most_layers),
    word("low_precision_combine", low_precision_words),
    counts("masked_from"),
    integer("max_tokens_per_rank", 1, many),
    integer("num_experts", 1, many),
    counts("padding_rows"),
    word("profile", {}),
    field_rule{"prompt_verdict", field_kind::boolean, 0, 0, {}},
    integer("ranks", 1, max_ep_size),
    field_rule{"recover", field_kind::boolean, 0, 0, {}},
    field_rule{"recover_without", field_kind::boolean, 0, 0, {}},
    integer("rejoin_step", 1, many),
    integer("retire_every", 0, many),
    word("routing", routing_words),
    integer("runtime_max_tokens", 1, many),
    word("runtime_max_tokens_from", runtime_max_words),
    integer("side_workspace_every", 0, many),
    integer("steps", 1, many),
    integer("timeout_ms", 1, day_ms),
    counts("token_counts"),
    integer("tokens", 0, many),
    integer("top_k", 1, max_top_k),
    field_rule{"topk_weights", field_kind::boolean, 0, 0, {}},
    word("trace", {}),
    word("values", value_words),
    word("variation", variation_words),
    integer("warmup_timeout_ms", 1, day_ms),
    integer("workers", 1, max_threads),
    integer("zipf_exponent_percent", 0, 1000),
};
static_assert(std::is_sorted(rules.begin(), rules.end(),
                             [](const field_rule& left, const field_rule& right) { return left.name < right.name; }));

}  // namespace

std::string to_text(const field_value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

std::span<const field_rule> field_rules() noexcept { return rules; }

const field_rule* find_field(std::string_view name) noexcept {
  const auto* found = std::find_if(rules.begin(), rules.end(), [name](const auto& rule) { return rule.name == name; });
  return found == rules.end() ? nullptr : found;
}

std::string describe(const field_rule& rule) {
  switch (rule.kind) {
    case field_kind::boolean: return "must be true or false";
    case field_kind::integer:
      return "must be an integer from " + std::to_string(rule.min) + " to " + std::to_string(rule.max);
    case field_kind::counts:
      return "must be counts such as \"32\" or \"0:32:32/8\": steps separated by /, ranks by :, at most " +
             std::to_string(step_counts::most_counts) + " integers from 0 to " +
             std::to_string(step_counts::most_count) + " without leading zeros";
    case field_kind::word: break;
  }
  if (rule.words.empty()) return "must be a text";
  std::string text = "must be one of ";
  for (const auto& choice : rule.words) {
    if (&choice != &rule.words.front()) text += ", ";
    text += choice;
  }
  return text;
}

bool obeys(const field_rule& rule, const field_value& value) noexcept {
  switch (rule.kind) {
    case field_kind::boolean: return std::holds_alternative<bool>(value);
    case field_kind::integer: {
      const auto* number = std::get_if<std::int64_t>(&value);
      return number != nullptr && *number >= rule.min && *number <= rule.max;
    }
    case field_kind::counts: {
      const auto* text = std::get_if<std::string>(&value);
      return text != nullptr && step_counts::parse(*text).has_value();
    }
    case field_kind::word: {
      const auto* text = std::get_if<std::string>(&value);
      if (text == nullptr) return false;
      return rule.words.empty() || std::find(rule.words.begin(), rule.words.end(), *text) != rule.words.end();
    }
  }
  return false;
}

std::optional<field_value> field_value_from_text(const field_rule& rule, std::string_view text) {
  field_value value;
  switch (rule.kind) {
    case field_kind::boolean:
      if (text != "true" && text != "false") return std::nullopt;
      value = text == "true";
      break;
    case field_kind::integer: {
      std::int64_t number = 0;
      const auto* end = text.data() + text.size();
      const auto [rest, failure] = std::from_chars(text.data(), end, number);
      if (failure != std::errc{} || rest != end) return std::nullopt;
      // One spelling per value, so that one case has one id: no "-0", no leading zeros.
      if (std::to_string(number) != text) return std::nullopt;
      value = number;
      break;
    }
    case field_kind::counts:
    case field_kind::word: value = std::string(text); break;
  }
  if (!obeys(rule, value)) return std::nullopt;
  return value;
}

}  // namespace switchyard::harness
