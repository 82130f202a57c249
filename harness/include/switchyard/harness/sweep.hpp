// SPDX-License-Identifier: Apache-2.0
// From scenarios to cases: expands sweeps, resolves profiles and defaults, checks what involves several fields.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/model_profile.hpp"
#include "switchyard/harness/scenario.hpp"

namespace switchyard::harness {

inline constexpr std::size_t max_cases_per_scenario = 100'000;  ///< a sweep above it is a slip of the pen
/// Most pairs of values of any two axes of a pairwise group, whose rows are at least so many: making the array takes
/// seconds above it.
inline constexpr std::size_t max_pairs_of_two_axes = 10'000;

/// A case id taken apart: suite/scenario@key=value,... with keys ascending; no '@' where nothing is swept.
struct case_address {
  std::string suite;
  std::string scenario;
  std::vector<std::pair<std::string, std::string>> settings;
};

/// Throws input_error when `id` is not of that form or repeats a key.
case_address parse_case_id(std::string_view id);

struct expand_options {
  field_settings overrides;  ///< replace fields and the axes that sweep them, and become part of the ids
  /// Which case ids are wanted; empty: all. The other cases are not made, so they may be impossible.
  std::function<bool(const std::string& id)> keep;
};

/// The cases of a scenario, in the order of its sweep. Throws input_error when a case is impossible, naming the field
/// and the case.
std::vector<case_spec> expand(const suite& from, const scenario& which, const model_profiles& profiles,
                              const expand_options& options = {});

/// expand() for every scenario of a suite.
std::vector<case_spec> expand(const suite& from, const model_profiles& profiles, const expand_options& options = {});

/// The one case that `address` names in `from`. Each swept field must be given; other fields may be given too, so that
/// the id of an overridden case is enough to repeat it. Throws input_error.
case_spec expand_one(const suite& from, const case_address& address, const model_profiles& profiles);

}  // namespace switchyard::harness
