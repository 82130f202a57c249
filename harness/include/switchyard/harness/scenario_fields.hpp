// SPDX-License-Identifier: Apache-2.0
// The fields that a scenario may set or sweep, each with its type and its rule: one table for the reader, for case ids
// and for messages.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

enum class field_kind : std::uint8_t {
  boolean,
  integer,
  word,
  counts,  ///< a text as step_counts reads it
};

struct field_rule {
  std::string_view name;  ///< "inject.rank" is the member rank of the object inject
  field_kind kind = field_kind::integer;
  std::int64_t min = 0;                       ///< of an integer
  std::int64_t max = 0;                       ///< of an integer
  std::span<const std::string_view> words{};  ///< that a word may be; empty: checked when cases are made (profile)
};

/// All fields, sorted by name.
std::span<const field_rule> field_rules() noexcept;

/// The rule of a field, or null for a name that is no field.
const field_rule* find_field(std::string_view name) noexcept;

/// "must be an integer from 1 to 32", "must be true or false", "must be one of bf16, fp16, fp32".
std::string describe(const field_rule& rule);

/// Whether a value obeys its field's own rule.
bool obeys(const field_rule& rule, const field_value& value) noexcept;

/// The value that `text` writes in a case id; nothing when it breaks the rule.
std::optional<field_value> field_value_from_text(const field_rule& rule, std::string_view text);

}  // namespace switchyard::harness
