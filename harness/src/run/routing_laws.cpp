// SPDX-License-Identifier: Apache-2.0
// Rows of expert ids by law.
#include "routing_laws.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {
namespace {

std::vector<std::int32_t> shuffled_experts(std::uint64_t num_experts, std::uint64_t key) {
  std::vector<std::int32_t> experts(num_experts);
  std::iota(experts.begin(), experts.end(), 0);
  counter_random random(key);
  for (std::size_t left = experts.size(); left > 1; --left) std::swap(experts[left - 1], experts[random.below(left)]);
  return experts;
}

/// Fills ids[from ..] with what `draw` gives, distinct from one another and from the ids before: drawing again keeps
/// every ordered choice equally likely. Precondition: `draw` has enough different values.
template <typename Draw>
void fill_distinct(std::span<std::int32_t> ids, std::size_t from, Draw draw) {
  for (std::size_t k = from; k < ids.size(); ++k) {
    const auto drawn_end = ids.begin() + static_cast<std::ptrdiff_t>(k);
    do {
      ids[k] = static_cast<std::int32_t>(draw());
    } while (std::find(ids.begin(), drawn_end, ids[k]) != drawn_end);
  }
}

void fill_uniform(std::uint64_t num_experts, counter_random& random, std::span<std::int32_t> ids) {
  fill_distinct(ids, 0, [&] { return random.below(num_experts); });
}

bool chance_of_percent(counter_random& random, int percent) {
  return random.chance(static_cast<std::uint64_t>(percent), 100);
}

}  // namespace

expert_drawer::expert_drawer(const case_spec& spec, std::uint64_t seed, int step,
                             std::span<const std::int64_t> num_tokens)
    : routing_(spec.routing),
      law_(spec.law),
      trace_(spec.trace),
      step_(step),
      num_experts_(static_cast<std::uint64_t>(spec.params.num_experts)),
      no_expert_(spec.params.invalid_expert_id) {
  if (routing_ == routing_law::balanced) {
    const auto use = static_cast<std::uint64_t>(random_use::permutation);
    permutation_ = shuffled_experts(num_experts_, key_of({seed, use, static_cast<std::uint64_t>(step), 0, 0}));
    std::uint64_t before = 0;
    for (const std::int64_t count : num_tokens) {
      tokens_before_rank_.push_back(before);
      before += static_cast<std::uint64_t>(count);
    }
  } else if (routing_ == routing_law::zipf) {
    // Which expert is popular stays the same from step to step, and hot experts lie anywhere: on every rank.
    permutation_ = shuffled_experts(num_experts_, key_of({seed, static_cast<std::uint64_t>(random_use::popularity)}));
    std::uint64_t before = 0;
    weight_before_.push_back(before);
    for (const std::uint64_t weight : zipf_weights(spec.params.num_experts, law_.zipf_exponent_percent)) {
      weight_before_.push_back(before += weight);
    }
  } else if (routing_ == routing_law::hot_rank || routing_ == routing_law::local || routing_ == routing_law::remote) {
    owned_.resize(static_cast<std::size_t>(spec.ep_size));
    for (std::int64_t expert = spec.params.num_experts; expert-- > 0;) {  // a rank's experts are neighbours
      const int owner = reference::owner_of(expert, spec.params.num_experts, spec.ep_size);
      auto& range = owned_[static_cast<std::size_t>(owner)];
      range = {static_cast<std::uint64_t>(expert), range.count + 1};
    }
  }
}

void expert_drawer::fill(int rank, std::int64_t token, counter_random random, std::span<std::int32_t> ids) const {
  switch (routing_) {
    case routing_law::uniform: return fill_uniform(num_experts_, random, ids);
    case routing_law::balanced: return fill_balanced(rank, token, ids);
    case routing_law::zipf: return fill_zipf(random, ids);
    case routing_law::hot_rank: return fill_hot_rank(random, ids);
    case routing_law::hot_expert: return fill_hot_expert(random, ids);
    case routing_law::grouped: return fill_grouped(random, ids);
    case routing_law::local:
    case routing_law::remote: break;
    case routing_law::trace: std::ranges::copy(trace_->topk_ids(step_, rank, token), ids.begin()); return;
  }
  const auto [first, owned] = owned_[static_cast<std::size_t>(rank)];
  const bool local = routing_ == routing_law::local;
  const std::uint64_t available = local ? owned : num_experts_ - owned;
  const auto named = ids.first(std::min<std::size_t>(ids.size(), available));
  fill_distinct(named, 0, [&, begin = first, gap = owned] {
    const std::uint64_t drawn = random.below(available);
    return local ? begin + drawn : drawn < begin ? drawn : drawn + gap;
  });
  std::fill(ids.begin() + static_cast<std::ptrdiff_t>(named.size()), ids.end(), no_expert_);
}

void expert_drawer::fill_balanced(int rank, std::int64_t token, std::span<std::int32_t> ids) const {
  // Successive slots of the group walk the permutation round and round: any top_k neighbours are distinct.
  const std::uint64_t first =
      (tokens_before_rank_[static_cast<std::size_t>(rank)] + static_cast<std::uint64_t>(token)) * ids.size();
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = permutation_[(first + k) % num_experts_];
}

void expert_drawer::fill_zipf(counter_random random, std::span<std::int32_t> ids) const {
  std::array<std::size_t, max_top_k> drawn{};  // places in popularity, ascending
  std::uint64_t total = weight_before_.back();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    // A point on the line of weights that are left, moved past each stretch that was drawn before it: no drawing again,
    // which could last for ever when a few experts have nearly all the weight.
    std::uint64_t point = random.below_wide(total);
    const auto drawn_end = drawn.begin() + static_cast<std::ptrdiff_t>(k);
    for (auto place = drawn.begin(); place != drawn_end; ++place) {
      if (point >= weight_before_[*place]) point += weight_before_[*place + 1] - weight_before_[*place];
    }
    const auto after = std::upper_bound(weight_before_.begin(), weight_before_.end(), point);
    const auto place = static_cast<std::size_t>(after - weight_before_.begin()) - 1;
    ids[k] = permutation_[place];
    total -= weight_before_[place + 1] - weight_before_[place];
    const auto at = std::upper_bound(drawn.begin(), drawn_end, place);
    std::copy_backward(at, drawn_end, drawn_end + 1);
    *at = place;
  }
}

void expert_drawer::fill_hot_rank(counter_random random, std::span<std::int32_t> ids) const {
  if (!chance_of_percent(random, law_.hot_percent)) return fill_uniform(num_experts_, random, ids);
  const auto [first, owned] = owned_[static_cast<std::size_t>(law_.hot_rank)];
  const std::size_t hot = std::min<std::size_t>(ids.size(), owned);
  fill_distinct(ids.first(hot), 0, [&, begin = first, count = owned] { return begin + random.below(count); });
  if (hot == ids.size()) return;
  fill_distinct(ids, hot, [&, begin = first, gap = owned] {
    const std::uint64_t drawn = random.below(num_experts_ - gap);
    return drawn < begin ? drawn : drawn + gap;
  });
  // So that the hot slots are not always the first ones.
  for (std::size_t left = ids.size(); left > 1; --left) std::swap(ids[left - 1], ids[random.below(left)]);
}

void expert_drawer::fill_hot_expert(counter_random random, std::span<std::int32_t> ids) const {
  if (!chance_of_percent(random, law_.hot_percent)) return fill_uniform(num_experts_, random, ids);
  ids[0] = static_cast<std::int32_t>(law_.hot_expert);
  fill_distinct(ids, 1, [&] { return random.below(num_experts_); });
  std::swap(ids[0], ids[random.below(ids.size())]);
}

expert_drawer::expert_range expert_drawer::group(std::uint64_t index) const noexcept {
  const auto groups = static_cast<std::uint64_t>(law_.expert_groups);
  const std::uint64_t larger = num_experts_ % groups;  // groups with one expert more come first
  return {index * (num_experts_ / groups) + std::min(index, larger), num_experts_ / groups + (index < larger ? 1 : 0)};
}

void expert_drawer::fill_grouped(counter_random random, std::span<std::int32_t> ids) const {
  std::array<std::uint16_t, most_expert_groups> order{};
  const auto groups = static_cast<std::size_t>(law_.expert_groups);
  std::iota(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(groups), std::uint16_t{0});
  const auto chosen = std::span(order).first(static_cast<std::size_t>(law_.groups_per_token));
  std::uint64_t experts = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {  // the first steps of a shuffle
    std::swap(order[i], order[i + random.below(groups - i)]);
    experts += group(order[i]).count;
  }
  fill_distinct(ids, 0, [&] {
    std::uint64_t drawn = random.below(experts);
    std::size_t i = 0;
    for (; drawn >= group(chosen[i]).count; ++i) drawn -= group(chosen[i]).count;
    return group(chosen[i]).first + drawn;
  });
}

void repeat_slots(int percent, counter_random random, std::span<std::int32_t> ids) {
  for (std::size_t k = 1; k < ids.size(); ++k) {
    const bool repeats = chance_of_percent(random, percent);
    const std::uint64_t earlier = random.below(k);
    if (repeats) ids[k] = ids[earlier];
  }
}

}  // namespace switchyard::harness
