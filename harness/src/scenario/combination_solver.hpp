// SPDX-License-Identifier: Apache-2.0
// Whether a partial combination can be completed to an allowed one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "switchyard/harness/pairwise.hpp"

namespace switchyard::harness {

inline constexpr std::size_t unset = std::numeric_limits<std::size_t>::max();

/// Values of an axis that belong to the same forbidden patterns are one class, and only classes matter: there are few,
/// so answers are remembered. Deciding is a search, exponential in the number of patterns at worst; the patterns of a
/// scenario are a handful.
class combination_solver {
 public:
  explicit combination_solver(const combination_space& space);

  /// `partial` has `unset` where an axis has no value yet.
  bool can_complete(const combination& partial);

  /// Whether an axis is a member of a pattern; the value of any other never matters.
  [[nodiscard]] bool matters(std::size_t axis) const noexcept { return axes_[axis].belongs.size() > 1; }

 private:
  using classes = std::vector<std::uint32_t>;  // per axis; no_class where it is not set
  static constexpr std::uint32_t no_class = std::numeric_limits<std::uint32_t>::max();

  struct axis_classes {
    std::vector<std::uint32_t> of_value;
    std::vector<std::vector<bool>> belongs;  // [class][pattern]: whether these values keep the pattern alive
  };

  /// The axis to decide next: one that an unbroken pattern still waits for; `unset` when there is none. Sets
  /// `violated` when a pattern matches whatever follows.
  [[nodiscard]] std::size_t next_axis(const classes& chosen, bool& violated) const;
  bool search(classes& chosen);

  std::vector<axis_classes> axes_;
  std::vector<std::vector<std::size_t>> members_;  // [pattern]: its axes
  std::unordered_map<std::string, bool> known_;
};

}  // namespace switchyard::harness
