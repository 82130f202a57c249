// SPDX-License-Identifier: Apache-2.0
// Products, zips and pairwise arrays.
#include "sweep_points.hpp"

#include <algorithm>

#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness {
namespace {

std::size_t index_of(const std::vector<field_setting>& values, const field_value& value) {
  const auto found = std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.value == value; });
  return static_cast<std::size_t>(found - values.begin());  // exclusions have only values that are there
}

[[noreturn]] void refuse_many(const sweep_group& group) {
  refuse(group.place, "", "makes more than " + std::to_string(max_cases_per_scenario) + " cases", rule_kind::relation);
}

std::vector<combination> product_of(const sweep_group& group) {
  const auto space = space_of(group);
  std::size_t total = 1;
  for (const auto size : space.axis_sizes) {
    total *= size;  // both factors are below 2^24, the bound on a file's bytes: no overflow before the check
    if (total > max_cases_per_scenario) refuse_many(group);
  }
  std::vector<combination> points;
  for (std::size_t number = 0; number < total; ++number) {
    combination point(space.axis_sizes.size());
    auto rest = number;
    for (auto axis = point.size(); axis-- > 0;) {
      point[axis] = rest % space.axis_sizes[axis];
      rest /= space.axis_sizes[axis];
    }
    if (space.allows(point)) points.push_back(std::move(point));
  }
  return points;
}

std::vector<combination> zip_of(const sweep_group& group) {
  std::vector<combination> points;
  for (std::size_t i = 0; i < group.axes.front().values.size(); ++i) points.emplace_back(group.axes.size(), i);
  return points;
}

std::vector<combination> pairwise_of(const sweep_group& group) {
  auto space = space_of(group);
  auto sizes = space.axis_sizes;
  std::sort(sizes.rbegin(), sizes.rend());
  // The two largest axes bound the rows from below.
  if (sizes.size() > 1 && sizes[0] * sizes[1] > max_pairs_of_two_axes) {
    refuse(group.place, std::to_string(sizes[0]) + " and " + std::to_string(sizes[1]) + " values",
           "two axes must have at most " + std::to_string(max_pairs_of_two_axes) + " pairs of values",
           rule_kind::relation);
  }
  return pairwise_rows(space);
}

}  // namespace

combination_space space_of(const sweep_group& group) {
  combination_space space;
  for (const auto& axis : group.axes) space.axis_sizes.push_back(axis.values.size());
  for (const auto& exclusion : group.exclude) {
    auto& pattern = space.forbidden.emplace_back();
    for (const auto& member : exclusion.members) {
      for (std::size_t axis = 0; axis < group.axes.size(); ++axis) {
        if (group.axes[axis].field != member.field) continue;
        auto& into = pattern.members.emplace_back();
        into.axis = axis;
        for (const auto& setting : member.values) {
          into.values.push_back(index_of(group.axes[axis].values, setting.value));
        }
      }
    }
  }
  return space;
}

sweep_group without(const sweep_group& group, const field_settings& overrides) {
  sweep_group left{group.kind, {}, {}, group.place};
  for (const auto& axis : group.axes) {
    if (overrides.find(axis.field) == overrides.end()) left.axes.push_back(axis);
  }
  for (const auto& exclusion : group.exclude) {
    sweep_exclusion rest{{}, exclusion.place};
    bool matchable = true;
    for (const auto& member : exclusion.members) {
      const auto found = overrides.find(member.field);
      if (found == overrides.end()) {
        rest.members.push_back(member);
      } else if (index_of(member.values, found->second.value) == member.values.size()) {
        matchable = false;
      }
    }
    if (!matchable) continue;
    if (rest.members.empty()) {
      refuse(exclusion.place, "", "excludes every combination with what is set instead of the sweep",
             rule_kind::relation);
    }
    left.exclude.push_back(std::move(rest));
  }
  return left;
}

std::vector<combination> points_of(const sweep_group& group) {
  std::vector<combination> points;
  switch (group.kind) {
    case sweep_kind::product: points = product_of(group); break;
    case sweep_kind::zip: points = zip_of(group); break;
    case sweep_kind::pairwise: points = pairwise_of(group); break;
  }
  // Reading the file has found that the group has points; an override can take them away.
  if (points.empty()) {
    refuse(group.place, "", "exclude leaves no combination with what is set instead of the sweep", rule_kind::relation);
  }
  return points;
}

}  // namespace switchyard::harness
