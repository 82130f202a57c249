// SPDX-License-Identifier: Apache-2.0
// Covering arrays of strength two: few combinations of axes' values in which every pair of values of two axes occurs.
#pragma once

#include <cstddef>
#include <vector>

namespace switchyard::harness {

/// One value of each axis, as indices into the axes' values.
using combination = std::vector<std::size_t>;

/// The combinations in which each member's axis has one of the member's values. An axis is a member at most once.
struct combination_pattern {
  struct member {
    std::size_t axis = 0;
    std::vector<std::size_t> values;
  };
  std::vector<member> members;  ///< none: every combination
};

bool matches(const combination_pattern& pattern, const combination& which);

/// All combinations of axes but those that match a forbidden pattern.
struct combination_space {
  std::vector<std::size_t> axis_sizes;  ///< number of values of each axis, each >= 1
  std::vector<combination_pattern> forbidden;

  [[nodiscard]] bool allows(const combination& which) const;
  /// For each axis, for each value: whether some allowed combination has it.
  [[nodiscard]] std::vector<std::vector<bool>> possible_values() const;
};

/// Allowed combinations such that every pair of values of two axes that some allowed combination has is in at least one
/// of them; with one axis, every possible value. None when nothing is allowed.
///
/// Greedy, and a pure function of the space: the same everywhere and in every run. The number of rows is at least the
/// product of the two largest axes (when nothing is forbidden) and close to it where the other axes are smaller; for
/// many axes of one size it is about one and a half times that.
std::vector<combination> pairwise_rows(const combination_space& space);

}  // namespace switchyard::harness
