// SPDX-License-Identifier: Apache-2.0
// Fields hold flags, integers and texts; nothing is converted.
#include "field_reading.hpp"

#include <cmath>

namespace switchyard::harness {
namespace {

/// JSON Schema cannot tell 2.0 from 2. This reader can: one value has one spelling.
bool is_integer_with_fraction(const field_rule& rule, const nlohmann::json& value) {
  if (rule.kind != field_kind::integer || !value.is_number_float()) return false;
  const auto number = value.get<double>();
  return number == std::floor(number) && number >= static_cast<double>(rule.min) &&
         number <= static_cast<double>(rule.max);
}

}  // namespace

field_setting read_field(const field_rule& rule, const json_at& at) {
  field_value value;
  bool exact = true;
  if (at.value.is_boolean()) {
    value = at.value.get<bool>();
  } else if (at.value.is_number_unsigned()) {
    const auto number = at.value.get<std::uint64_t>();
    exact = number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    value = exact ? static_cast<std::int64_t>(number) : 0;
  } else if (at.value.is_number_integer()) {
    value = at.value.get<std::int64_t>();
  } else if (at.value.is_string()) {
    value = at.value.get<std::string>();
  } else {
    exact = false;  // null, an array, an object, or a number that is not written as an integer
  }
  if (!exact || !obeys(rule, value)) {
    refuse(at, describe(rule), is_integer_with_fraction(rule, at.value) ? rule_kind::relation : rule_kind::form);
  }
  return {std::move(value), at.place};
}

}  // namespace switchyard::harness
