// SPDX-License-Identifier: Apache-2.0
// The greedy search for a smaller case that fails in the same way.
#include "switchyard/harness/shrink.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shrink_counts.hpp"
#include "switchyard/harness/random_cases.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::harness {
namespace {

using names = std::vector<std::string>;

// Kept even where their default would do: fewer steps are smaller than the default, and a short timeout is what keeps
// the search quick; it is dropped at the end.
constexpr std::string_view steps_field = "steps";
constexpr std::string_view timeout_field = "timeout_ms";
constexpr std::int64_t quick_timeout_ms = 1000;

// Lowered first, because they decide what a run costs.
constexpr std::array<std::string_view, 5> costly{"steps", "ranks", "tokens", "hidden_size", "extra_bytes"};

// Fields that rules tie to one another, so that one of them alone often cannot be lowered.
const std::array<names, 5> tied{names{"tokens", "runtime_max_tokens", "max_tokens_per_rank"},
                                names{"runtime_max_tokens", "max_tokens_per_rank"}, names{"ranks", "num_experts"},
                                names{"top_k", "num_experts"}, names{"ranks", "top_k", "num_experts"}};
// Fields that are refused without one another.
const std::array inseparable{names{"inject.field", "inject.kind", "inject.late_ms", "inject.phase", "inject.rank",
                                   "inject.step", "expected_fault", "prompt_verdict", "recover", "recover_without"},
                             names{"runtime_max_tokens_from", "expected_fault"},
                             names{"late_rank", "late_us"},
                             names{"enable_rank_mask", "masked_from", "rejoin_step"},
                             names{"layers", "retire_every", "layer_formats"},
                             names{"routing", "expert_groups", "groups_per_token", "hot_expert", "hot_percent",
                                   "hot_rank", "zipf_exponent_percent"}};
// Fields that name a rank.
constexpr std::array<std::string_view, 3> rank_fields{"hot_rank", "inject.rank", "late_rank"};

class shrinker {
 public:
  shrinker(field_settings settings, const failure_test& still_fails, const shrink_options& options)
      : still_fails_(still_fails), options_(options) {
    result_.spec = random_case_of(settings);
    result_.settings = std::move(settings);
  }

  shrunk_case run() {
    for (result_.attempts = 0; result_.attempts < options_.attempts && may_run(); ++result_.attempts) {
      if (fails(result_.spec)) ++result_.failed_attempts;
    }
    if (result_.failed_attempts == 0) return std::move(result_);
    runs_per_candidate_ = result_.failed_attempts == result_.attempts ? 1 : options_.attempts;
    quicken();
    do {
      changed_ = false;
      drop_settings();
      lower_values();
    } while (changed_ && may_run());
    drop({std::string(timeout_field)});
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool may_run() const {
    return result_.runs < options_.max_runs && !(options_.stop_requested && options_.stop_requested());
  }

  bool fails(const case_spec& spec) {
    ++result_.runs;
    return still_fails_(spec);
  }

  /// Takes `candidate` when it is a case that fails.
  bool take(field_settings candidate) {
    std::optional<case_spec> spec;
    try {
      spec = random_case_of(candidate);
    } catch (const input_error&) {
      return false;  // it breaks a rule
    }
    if (!seen_.insert(spec->id).second) return false;
    for (int attempt = 0; attempt < runs_per_candidate_ && may_run(); ++attempt) {
      if (!fails(*spec)) continue;
      result_.settings = std::move(candidate);
      result_.spec = *std::move(spec);
      changed_ = true;
      return true;
    }
    return false;
  }

  [[nodiscard]] const std::int64_t* number_of(std::string_view field) const {
    const auto found = result_.settings.find(field);
    return found == result_.settings.end() ? nullptr : std::get_if<std::int64_t>(&found->second.value);
  }

  bool take_with(std::string_view field, field_value value) {
    auto candidate = result_.settings;
    candidate.insert_or_assign(std::string(field), field_setting{std::move(value), {"shrunk", ""}});
    return take(std::move(candidate));
  }

  void quicken() {
    const auto* timeout = number_of(timeout_field);
    if (timeout == nullptr || *timeout > quick_timeout_ms) take_with(timeout_field, quick_timeout_ms);
  }

  bool drop(const names& fields) {
    auto candidate = result_.settings;
    std::size_t dropped = 0;
    for (const auto& field : fields) dropped += candidate.erase(field);
    return dropped > 0 && take(std::move(candidate));
  }

  /// Everything at once, then halves, quarters, ... and at last one by one.
  void drop_settings() {
    for (const auto& together : inseparable) drop(together);
    for (std::size_t chunk = result_.settings.size(); chunk > 0; chunk /= 2) {
      names fields;
      for (const auto& [field, setting] : result_.settings) {
        if (field != steps_field && field != timeout_field) fields.push_back(field);
      }
      for (std::size_t begin = 0; begin < fields.size(); begin += chunk) {
        const auto end = std::min(fields.size(), begin + chunk);
        drop(names(fields.begin() + static_cast<std::ptrdiff_t>(begin),
                   fields.begin() + static_cast<std::ptrdiff_t>(end)));
      }
    }
  }

  void lower_values() {
    for (const auto field : costly) lower_together({std::string(field)});
    while (take_without_a_rank()) continue;
    for (const auto& fields : tied) lower_together(fields);
    names others;
    for (const auto& [field, setting] : result_.settings) {
      if (field != timeout_field) others.push_back(field);
    }
    for (const auto& field : others) {
      lower_together({field});
      simplify_text(field);
    }
  }

  /// Subtracts as much as can be subtracted from all of `fields` that are set and numbers.
  void lower_together(const names& fields) {
    names set;
    std::int64_t reach = std::numeric_limits<std::int64_t>::max();
    for (const auto& field : fields) {
      const auto* number = number_of(field);
      if (number == nullptr) continue;
      set.push_back(field);
      reach = std::min(reach, *number - find_field(field)->min);
    }
    if (set.empty() || (set.size() == 1 && fields.size() > 1)) return;
    const auto base = result_.settings;
    const auto take_less = [&](std::int64_t amount) {
      auto candidate = base;
      for (const auto& field : set) std::get<std::int64_t>(candidate.at(field).value) -= amount;
      return take(std::move(candidate));
    };
    if (reach <= 0 || take_less(reach)) return;
    std::int64_t good = 0;  // the largest amount known to leave a failing case
    for (std::int64_t bad = reach; bad - good > 1;) {
      const auto middle = good + (bad - good) / 2;
      (take_less(middle) ? good : bad) = middle;
    }
  }

  /// One rank less, with what is said of it: counts by rank and the numbers of the ranks behind it.
  bool take_without_a_rank() {
    const auto* ranks = number_of("ranks");
    for (std::int64_t rank = ranks == nullptr ? 0 : *ranks - 1; rank >= 0; --rank) {
      auto candidate = result_.settings;
      --std::get<std::int64_t>(candidate.at("ranks").value);
      for (auto& [field, setting] : candidate) {
        if (find_field(field)->kind == field_kind::counts) {
          setting.value = counts_without_rank(std::get<std::string>(setting.value), static_cast<std::size_t>(rank));
        } else if (std::ranges::find(rank_fields, field) != rank_fields.end()) {
          auto& named = std::get<std::int64_t>(setting.value);
          if (named > rank) --named;
        }
      }
      if (take(std::move(candidate))) return true;
    }
    return false;
  }

  void simplify_text(const std::string& field) {
    const auto found = result_.settings.find(field);
    if (found == result_.settings.end() || !std::holds_alternative<std::string>(found->second.value)) return;
    const auto& rule = *find_field(field);
    if (rule.kind == field_kind::counts) {
      if (field == "token_counts" && take_tokens_instead_of_counts()) return;
      while (take_simpler_counts(field)) continue;
      return;
    }
    const auto current = std::get<std::string>(found->second.value);
    for (const auto& word : rule.words) {  // the plain ones stand first
      if (word == current || take_with(field, std::string(word))) return;
    }
  }

  bool take_tokens_instead_of_counts() {
    auto candidate = result_.settings;
    const auto counts = candidate.extract("token_counts");
    const auto tokens = largest_count(std::get<std::string>(counts.mapped().value));
    candidate.insert_or_assign("tokens", field_setting{tokens, {"shrunk", ""}});
    return take(std::move(candidate));
  }

  bool take_simpler_counts(const std::string& field) {
    const auto counts = std::get<std::string>(result_.settings.at(field).value);
    for (auto& simpler : simpler_counts(counts)) {
      if (take_with(field, std::move(simpler))) return true;
    }
    return false;
  }

  const failure_test& still_fails_;
  const shrink_options& options_;
  shrunk_case result_;
  std::set<std::string> seen_;  // ids of candidates that were run
  int runs_per_candidate_ = 1;
  bool changed_ = false;
};

nlohmann::ordered_json json_of(const field_value& value) {
  return std::visit([](const auto& held) { return nlohmann::ordered_json(held); }, value);
}

}  // namespace

shrunk_case shrink(const field_settings& settings, const failure_test& still_fails, const shrink_options& options) {
  return shrinker(settings, still_fails, options).run();
}

std::string failure_kind(const case_result& result) {
  switch (result.status) {
    case case_status::fail:
    case case_status::crash:
    case case_status::timeout:
    case case_status::device_lost: break;
    case case_status::pass:
    case case_status::skipped:
    case case_status::waived:
    case case_status::missing: return {};
  }
  std::string kind(to_string(result.status));
  if (!result.findings.empty()) kind += " " + std::string(to_string(result.findings.front().verdict));
  if (!result.faults.empty()) kind += " " + std::string(to_string(result.faults.front().record.code));
  return kind;
}

std::string scenario_file_text(const field_settings& settings, std::string_view suite, std::string_view sentence) {
  nlohmann::ordered_json one{{"name", "shrunk"}, {"sentence", sentence}};
  for (const auto& [field, setting] : settings) {
    const auto dot = field.find('.');
    if (dot != std::string::npos) {  // a member of an object
      one[field.substr(0, dot)][field.substr(dot + 1)] = json_of(setting.value);
    } else {
      one[field] = json_of(setting.value);
    }
  }
  const nlohmann::ordered_json file{{"suite", suite},
                                    {"description", "A case that failed, made as small as it would go."},
                                    {"scenarios", nlohmann::ordered_json::array({std::move(one)})}};
  return file.dump(2) + '\n';
}

}  // namespace switchyard::harness
