// SPDX-License-Identifier: Apache-2.0
// How the tokens of a drawn case are routed.
#include <algorithm>
#include <array>

#include "random_draft.hpp"

namespace switchyard::harness {
namespace {

// All but trace, which needs a file.
constexpr std::array laws{routing_law::uniform,    routing_law::balanced, routing_law::zipf,  routing_law::hot_rank,
                          routing_law::hot_expert, routing_law::grouped,  routing_law::local, routing_law::remote};

/// Groups such that any that a token may get hold top_k experts: at least so many that the smallest of them do.
void draw_groups(random_draft& draft) {
  const auto experts = draft.shape.experts;
  const auto groups =
      draft.random.number(1, std::min<std::int64_t>(experts, most_expert_groups), {1, 2, 3, 8, experts});
  const auto small = experts / groups;  // experts of a group; the first experts mod groups of them have one more
  const auto small_groups = groups - experts % groups;
  std::int64_t least = 1;
  const auto held_by = [&](std::int64_t chosen) {
    return chosen * small + std::max<std::int64_t>(0, chosen - small_groups);
  };
  while (held_by(least) < draft.shape.top_k) ++least;  // all groups together hold all experts
  draft.set("expert_groups", groups);
  draft.set("groups_per_token", draft.random.number(least, groups, {least, least + 1, groups}));
}

void draw_law(random_draft& draft, routing_law law) {
  auto& random = draft.random;
  const auto& shape = draft.shape;
  switch (law) {
    case routing_law::zipf:
      if (random.chance(2, 3)) {
        draft.set("zipf_exponent_percent", random.number(0, 1000, {0, 1, 100, 150, 999, 1000}));
      }
      break;
    case routing_law::hot_rank:
      if (random.chance(2, 3)) draft.draw_percent("hot_percent");
      if (random.chance(2, 3)) draft.set("hot_rank", random.number(0, shape.ranks - 1, {0, shape.ranks - 1}));
      break;
    case routing_law::hot_expert:
      if (random.chance(2, 3)) draft.draw_percent("hot_percent");
      if (random.chance(2, 3)) draft.set("hot_expert", random.number(0, shape.experts - 1, {0, shape.experts - 1}));
      break;
    case routing_law::grouped: draw_groups(draft); break;
    case routing_law::uniform:
    case routing_law::balanced:
    case routing_law::local:
    case routing_law::remote:
    case routing_law::trace: break;
  }
}

}  // namespace

void draw_routing(random_draft& draft) {
  auto& random = draft.random;
  if (random.chance(2, 3)) {
    const auto law = random.one_of(laws);
    draft.set_word("routing", to_string(law));
    draw_law(draft, law);
  }
  if (random.chance(1, 5)) draft.draw_percent("duplicate_percent");
  if (random.chance(1, 3)) draft.draw_percent("invalid_percent");
}

}  // namespace switchyard::harness
