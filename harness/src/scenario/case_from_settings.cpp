// SPDX-License-Identifier: Apache-2.0
// One case out of the settings of its fields.
#include "case_from_settings.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

/// Reads the settings of one case. They have passed their own rules, so the types are known here.
class settings_reader {
 public:
  settings_reader(const scenario& which, const std::string& id, const field_settings& settings)
      : which_(which), id_(id), settings_(settings) {}

  [[nodiscard]] bool has(std::string_view field) const { return settings_.find(field) != settings_.end(); }

  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view field) const {
    const auto found = settings_.find(field);
    if (found == settings_.end()) return std::nullopt;
    return std::get<std::int64_t>(found->second.value);
  }
  [[nodiscard]] int small(std::string_view field, int otherwise) const {
    return static_cast<int>(integer(field).value_or(otherwise));  // every field read so has a bound below 2^31
  }
  [[nodiscard]] bool flag(std::string_view field, bool otherwise) const {
    const auto found = settings_.find(field);
    return found == settings_.end() ? otherwise : std::get<bool>(found->second.value);
  }
  [[nodiscard]] std::string word(std::string_view field, std::string_view otherwise) const {
    const auto found = settings_.find(field);
    return found == settings_.end() ? std::string(otherwise) : std::get<std::string>(found->second.value);
  }

  std::int64_t due(std::string_view field) const {
    if (const auto value = integer(field)) return *value;
    reject(field, "missing");
  }
  void require(bool holds, std::string_view field, const std::string& rule) const {
    if (!holds) reject(field, rule);
  }
  /// Refuses the case because of `field`, pointing at the place that set it.
  [[noreturn]] void reject(std::string_view field, const std::string& rule) const {
    const auto found = settings_.find(field);
    if (found != settings_.end()) {
      refuse(found->second.place, to_text(found->second.value), rule + " (case " + shortened_id(id_) + ")");
    }
    refuse(which_.place.child(field), "", rule + " (case " + shortened_id(id_) + ")");
  }

 private:
  const scenario& which_;
  const std::string& id_;
  const field_settings& settings_;
};

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

void read_tokens(case_spec& into, const settings_reader& from) {
  into.num_tokens = from.due("tokens");
  into.runtime_max_tokens = from.integer("runtime_max_tokens");
  const auto rows = into.runtime_max_tokens.value_or(std::max<std::int64_t>(1, into.num_tokens));
  into.params.max_tokens_per_rank = from.integer("max_tokens_per_rank").value_or(rows);
  const auto capacity = into.params.max_tokens_per_rank;
  from.require(into.num_tokens <= rows, "tokens", "must be at most runtime_max_tokens (" + std::to_string(rows) + ")");
  from.require(rows <= capacity, "max_tokens_per_rank",
               "must be at least tokens and runtime_max_tokens (" + std::to_string(rows) + ")");
}

fault_code fault_from_string(std::string_view word) {
  for (const auto code : {fault_code::timeout, fault_code::step_mismatch, fault_code::order_mismatch,
                          fault_code::out_of_order, fault_code::bad_header, fault_code::aborted}) {
    if (word == to_string(code)) return code;
  }
  return fault_code::none;
}

/// Absence is what makes a case fault, so one without the other is a mistake: such a case could never pass.
void read_faults(case_spec& into, const settings_reader& from) {
  into.expected_fault = fault_from_string(from.word("expected_fault", "none"));
  const bool any = from.has("absent.rank") || from.has("absent.step") || from.has("absent.phase");
  if (any) {
    absence absent;
    absent.rank = static_cast<int>(from.due("absent.rank"));
    absent.step = from.small("absent.step", 0);
    absent.phase =
        from.word("absent.phase", "dispatch") == to_string(phase::combine) ? phase::combine : phase::dispatch;
    from.require(into.ep_size >= 2, "ranks", "must be at least 2 where a rank is absent: a peer has to notice");
    from.require(absent.rank < into.ep_size, "absent.rank",
                 "must be below ranks (" + std::to_string(into.ep_size) + ")");
    from.require(absent.step < into.steps, "absent.step", "must be below steps (" + std::to_string(into.steps) + ")");
    into.absent = absent;
  }
  const bool due = into.expected_fault != fault_code::none;
  from.require(!any || due, "expected_fault", "must be set where a rank is absent: its peers record a fault");
  from.require(any || !due, "expected_fault", "needs an absent rank: nothing else makes a case fault");
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
  read_shape(spec, reader, profiles);
  check_shape(spec, reader);
  read_tokens(spec, reader);
  spec.topk_weights = reader.flag("topk_weights", spec.topk_weights);
  spec.extra_bytes = static_cast<std::size_t>(reader.integer("extra_bytes").value_or(0));
  spec.routing = reader.word("routing", "uniform") == to_string(routing_law::balanced) ? routing_law::balanced
                                                                                       : routing_law::uniform;
  spec.invalid_percent = reader.small("invalid_percent", spec.invalid_percent);
  spec.variation = reader.word("variation", "fixed") == to_string(step_variation::vary) ? step_variation::vary
                                                                                        : step_variation::fixed;
  spec.steps = reader.small("steps", spec.steps);
  spec.blocks = reader.small("blocks", spec.blocks);
  spec.workers = reader.small("workers", spec.workers);
  spec.first_epoch = static_cast<std::uint32_t>(reader.integer("first_epoch").value_or(spec.first_epoch));
  spec.timeout = std::chrono::milliseconds(reader.integer("timeout_ms").value_or(spec.timeout.count()));
  spec.late.at_most = std::chrono::microseconds(reader.integer("late_us").value_or(0));
  read_faults(spec, reader);
  return spec;
}

}  // namespace switchyard::harness
