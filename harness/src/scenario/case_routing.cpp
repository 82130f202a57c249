// SPDX-License-Identifier: Apache-2.0
// Routing laws out of the settings of a case.
#include "case_routing.hpp"

#include <algorithm>
#include <initializer_list>

namespace switchyard::harness {
namespace {

/// Refuses `field` unless the routing is one of `laws`.
void require_law(const case_spec& spec, const settings_reader& from, std::string_view field,
                 std::initializer_list<routing_law> laws) {
  if (!from.has(field) || std::find(laws.begin(), laws.end(), spec.routing) != laws.end()) return;
  std::string names;
  for (const auto law : laws) names.append(names.empty() ? "" : " or ").append(to_string(law));
  from.reject(field, "belongs to routing " + names + ", but routing is " + std::string(to_string(spec.routing)));
}

/// The fewest experts that `chosen` of `groups` groups can have together.
std::int64_t fewest_experts(std::int64_t num_experts, std::int64_t groups, std::int64_t chosen) {
  const std::int64_t small_groups = groups - num_experts % groups;
  return chosen * (num_experts / groups) + std::max<std::int64_t>(0, chosen - small_groups);
}

void check_groups(const case_spec& spec, const settings_reader& from) {
  const auto& params = spec.params;
  const auto& law = spec.law;
  from.require(law.expert_groups <= params.num_experts, "expert_groups",
               "must be at most num_experts (" + std::to_string(params.num_experts) + ")");
  from.require(law.groups_per_token <= law.expert_groups, "groups_per_token",
               "must be at most expert_groups (" + std::to_string(law.expert_groups) + ")");
  const auto fewest = fewest_experts(params.num_experts, law.expert_groups, law.groups_per_token);
  from.require(params.top_k <= fewest, "groups_per_token",
               "must be groups with at least top_k (" + std::to_string(params.top_k) + ") experts; the smallest " +
                   std::to_string(law.groups_per_token) + " of " + std::to_string(law.expert_groups) + " groups have " +
                   std::to_string(fewest));
}

}  // namespace

void read_routing(case_spec& into, const settings_reader& from) {
  auto& law = into.law;
  law.zipf_exponent_percent = from.small("zipf_exponent_percent", law.zipf_exponent_percent);
  law.hot_percent = from.small("hot_percent", law.hot_percent);
  law.hot_rank = from.small("hot_rank", law.hot_rank);
  law.hot_expert = from.integer("hot_expert").value_or(law.hot_expert);
  law.expert_groups = from.small("expert_groups", law.expert_groups);
  law.groups_per_token = from.small("groups_per_token", law.groups_per_token);
  require_law(into, from, "zipf_exponent_percent", {routing_law::zipf});
  require_law(into, from, "hot_percent", {routing_law::hot_rank, routing_law::hot_expert});
  require_law(into, from, "hot_rank", {routing_law::hot_rank});
  require_law(into, from, "hot_expert", {routing_law::hot_expert});
  require_law(into, from, "expert_groups", {routing_law::grouped});
  require_law(into, from, "groups_per_token", {routing_law::grouped});
  from.require(law.hot_rank < into.ep_size, "hot_rank", "must be below ranks (" + std::to_string(into.ep_size) + ")");
  from.require(law.hot_expert < into.params.num_experts, "hot_expert",
               "must be below num_experts (" + std::to_string(into.params.num_experts) + ")");
  if (into.routing == routing_law::grouped) check_groups(into, from);
  into.duplicate_percent = from.small("duplicate_percent", into.duplicate_percent);
  into.invalid_percent = from.small("invalid_percent", into.invalid_percent);
}

}  // namespace switchyard::harness
