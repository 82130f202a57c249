// SPDX-License-Identifier: Apache-2.0
// Search for a completion, by classes of values.
#include "combination_solver.hpp"

#include <algorithm>
#include <map>

namespace switchyard::harness {

combination_solver::combination_solver(const combination_space& space) : axes_(space.axis_sizes.size()) {
  const auto num_patterns = space.forbidden.size();
  for (const auto& pattern : space.forbidden) {
    auto& axes = members_.emplace_back();
    for (const auto& member : pattern.members) axes.push_back(member.axis);
  }
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    // A pattern that says nothing of this axis stays alive whatever the value.
    std::vector<std::vector<bool>> belongs(space.axis_sizes[axis], std::vector<bool>(num_patterns, true));
    for (std::size_t number = 0; number < num_patterns; ++number) {
      for (const auto& member : space.forbidden[number].members) {
        if (member.axis != axis) continue;
        for (auto& of_value : belongs) of_value[number] = false;
        for (const auto value : member.values) belongs[value][number] = true;
      }
    }
    std::map<std::vector<bool>, std::uint32_t> numbers;
    for (const auto& of_value : belongs) {
      const auto [found, is_new] = numbers.emplace(of_value, static_cast<std::uint32_t>(numbers.size()));
      if (is_new) axes_[axis].belongs.push_back(of_value);
      axes_[axis].of_value.push_back(found->second);
    }
  }
}

std::size_t combination_solver::next_axis(const classes& chosen, bool& violated) const {
  auto next = unset;
  for (std::size_t pattern = 0; pattern < members_.size(); ++pattern) {
    bool alive = true;
    auto waits_for = unset;
    for (const auto axis : members_[pattern]) {
      if (chosen[axis] == no_class) {
        waits_for = axis;
      } else if (!axes_[axis].belongs[chosen[axis]][pattern]) {
        alive = false;
        break;
      }
    }
    if (!alive) continue;
    if (waits_for == unset) {
      violated = true;
      return unset;
    }
    next = waits_for;
  }
  violated = false;
  return next;
}

bool combination_solver::search(classes& chosen) {
  bool violated = false;
  const auto axis = next_axis(chosen, violated);
  if (violated) return false;
  if (axis == unset) return true;
  std::string key(reinterpret_cast<const char*>(chosen.data()), chosen.size() * sizeof(chosen.front()));
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  bool possible = false;
  for (std::uint32_t number = 0; number < axes_[axis].belongs.size() && !possible; ++number) {
    chosen[axis] = number;
    possible = search(chosen);
  }
  chosen[axis] = no_class;
  known_.emplace(std::move(key), possible);
  return possible;
}

bool combination_solver::can_complete(const combination& partial) {
  if (members_.empty()) return true;
  classes chosen(partial.size(), no_class);
  for (std::size_t axis = 0; axis < partial.size(); ++axis) {
    if (partial[axis] != unset) chosen[axis] = axes_[axis].of_value[partial[axis]];
  }
  return search(chosen);
}

}  // namespace switchyard::harness
