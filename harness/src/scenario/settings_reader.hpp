// SPDX-License-Identifier: Apache-2.0
// Typed access to the settings of one case, and refusals that point at what set them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "switchyard/harness/scenario.hpp"
#include "switchyard/harness/step_counts.hpp"

namespace switchyard::harness {

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

  /// The one of `choices` whose word the field has.
  template <typename Choice, std::size_t Count>
  [[nodiscard]] Choice choice(std::string_view field, const std::array<Choice, Count>& choices,
                              Choice otherwise) const {
    const auto text = word(field, to_string(otherwise));
    const auto found =
        std::find_if(choices.begin(), choices.end(), [&](Choice each) { return to_string(each) == text; });
    return found == choices.end() ? otherwise : *found;
  }
  /// The counts of a field, which must have one count or one for each rank in every step.
  [[nodiscard]] std::optional<step_counts> counts(std::string_view field, int ep_size) const {
    const auto found = settings_.find(field);
    if (found == settings_.end()) return std::nullopt;
    auto table = step_counts::parse(std::get<std::string>(found->second.value));
    require(table && table->fits(ep_size), field,
            "must have one count or " + std::to_string(ep_size) + " counts in each step: one for each rank");
    return table;
  }

  [[nodiscard]] std::int64_t due(std::string_view field) const {
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

}  // namespace switchyard::harness
