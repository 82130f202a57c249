// SPDX-License-Identifier: Apache-2.0
// A scenario as it stands in its file: checked fields and the sweep over some of them. sweep.hpp makes cases of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "switchyard/harness/routing_trace.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

using field_value = std::variant<bool, std::int64_t, std::string>;

/// The text of a value in case ids and messages: true, 17, mxfp8.
std::string to_text(const field_value& value);

/// A value of a field that has passed the field's own rule, and where it came from.
struct field_setting {
  field_value value;
  input_place place;
};

using field_settings = std::map<std::string, field_setting, std::less<>>;

struct sweep_axis {
  std::string field;
  std::vector<field_setting> values;
  input_place place;
};

enum class sweep_kind : std::uint8_t {
  product,   ///< every combination of the axes' values
  zip,       ///< the axes walk together: first values, second values, ...
  pairwise,  ///< few combinations in which every pair of values of two axes occurs (pairwise.hpp)
};

/// Combinations that a group does not make: those in which each member's field has one of the member's values.
struct sweep_exclusion {
  std::vector<sweep_axis> members;
  input_place place;
};

/// The groups of a scenario are multiplied with one another, first group slowest.
struct sweep_group {
  sweep_kind kind = sweep_kind::product;
  std::vector<sweep_axis> axes;
  std::vector<sweep_exclusion> exclude;  ///< of product and pairwise
  input_place place;
};

struct scenario {
  std::string name;
  std::string sentence;
  std::vector<std::string> tags;
  input_place place;
  field_settings fields;  ///< fields that are the same in every case
  std::vector<sweep_group> sweep;
};

/// Another suite whose cases belong to this one too, under their own ids.
struct suite_include {
  std::string name;
  input_place place;
};

struct suite {
  std::string name;
  std::string description;
  std::string file;
  std::vector<suite_include> includes;
  std::vector<scenario> scenarios;
  std::shared_ptr<trace_folder> traces;  ///< the folder traces beside the file
};

}  // namespace switchyard::harness
