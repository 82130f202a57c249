// SPDX-License-Identifier: Apache-2.0
// What the fields of a scenario mean, in prose: for the schema's descriptions, scenarios/README.md and explain.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace switchyard::harness {

struct field_meaning {
  std::string_view field;
  std::string_view otherwise;  ///< what holds where the field is not set; "due": it must be set, or its alternative
  std::string_view meaning;
};

/// One for every field of field_rules(), in its order.
std::span<const field_meaning> field_meanings() noexcept;

/// Null for a name that is no field.
const field_meaning* find_meaning(std::string_view field) noexcept;

/// All fields as a table in Markdown: name, values, default, meaning.
std::string fields_table();

}  // namespace switchyard::harness
