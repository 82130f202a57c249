// SPDX-License-Identifier: Apache-2.0
// How steps of a case are drawn.
#include "switchyard/harness/step_plan.hpp"

#include <algorithm>

#include "switchyard/harness/generator_random.hpp"

namespace switchyard::harness {
namespace {

counter_random random_for(random_use use, std::uint64_t seed, int step, std::uint64_t detail) {
  return counter_random(key_of({seed, static_cast<std::uint64_t>(use), static_cast<std::uint64_t>(step), detail}));
}

std::uint64_t count_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Empty and full ranks are drawn far more often than chance would have them: protocols break at the ends.
void draw_token_counts(counter_random& random, std::int64_t most, std::vector<std::int64_t>& counts) {
  const std::uint64_t law = random.below(8);
  for (auto& count : counts) {
    const std::uint64_t kind = random.below(4);
    const auto between = static_cast<std::int64_t>(random.below(count_of(most) + 1));
    count = kind == 0 ? 0 : kind == 1 ? most : between;
    if (law == 0) count = 0;
    if (law == 1) count = most;
  }
  if (law == 2) {  // one rank alone has tokens
    const auto alone = static_cast<std::size_t>(random.below(counts.size()));
    for (std::size_t rank = 0; rank < counts.size(); ++rank) counts[rank] = rank == alone ? most : 0;
  }
}

std::int64_t draw_combine_width(counter_random& random, std::int64_t hidden_size) {
  switch (random.below(6)) {
    case 0: return std::max<std::int64_t>(1, hidden_size / 2);
    case 1: return std::max<std::int64_t>(1, hidden_size - 1);
    case 2: return hidden_size / 4 + 1;
    default: return hidden_size;
  }
}

}  // namespace

std::int64_t largest_tokens_per_rank(const case_spec& spec) noexcept {
  if (spec.variation == step_variation::vary) return spec.params.max_tokens_per_rank;
  return spec.runtime_max_tokens.value_or(std::max<std::int64_t>(1, spec.num_tokens));
}

step_plan make_step_plan(const case_spec& spec, std::uint64_t seed, int step) {
  step_plan plan;
  plan.num_tokens.assign(static_cast<std::size_t>(spec.ep_size), spec.num_tokens);
  plan.tokens_per_rank = largest_tokens_per_rank(spec);
  plan.topk_weights = spec.topk_weights;
  plan.extra = spec.extra_bytes > 0;
  plan.invalid_percent = spec.invalid_percent;
  plan.combine_hidden_size = spec.params.hidden_size;
  plan.source = step % 2 == 0 ? combine_source::workspace_rows : combine_source::private_rows;
  if (spec.variation == step_variation::fixed) return plan;

  auto random = random_for(random_use::plan, seed, step, 0);
  draw_token_counts(random, spec.num_tokens, plan.num_tokens);
  const std::int64_t least = std::max<std::int64_t>(1, *std::ranges::max_element(plan.num_tokens));
  // A third of the steps have the least T there can be, so that the last row of a source is often a token.
  const std::int64_t above = random.chance(1, 3) ? 0 : spec.params.max_tokens_per_rank - least;
  plan.tokens_per_rank = least + static_cast<std::int64_t>(random.below(count_of(above) + 1));
  plan.topk_weights = spec.topk_weights && random.chance(3, 4);
  plan.extra = plan.extra && random.chance(1, 2);
  if (random.chance(1, 2)) plan.invalid_percent = std::max(spec.invalid_percent, random.chance(1, 4) ? 90 : 15);
  plan.foreign_invalid_ids = random.chance(1, 2);
  plan.combine_hidden_size = draw_combine_width(random, spec.params.hidden_size);
  plan.source = random.chance(1, 2) ? combine_source::workspace_rows : combine_source::private_rows;
  return plan;
}

delay make_delay(const case_spec& spec, std::uint64_t seed, int step, phase which) {
  if (spec.late.at_most.count() <= 0) return {};
  auto random = random_for(random_use::lateness, seed, step, static_cast<std::uint64_t>(which));
  delay drawn;
  drawn.rank = static_cast<int>(random.below(static_cast<std::uint64_t>(spec.ep_size)));
  drawn.length = std::chrono::microseconds(
      static_cast<std::int64_t>(random.next() % (static_cast<std::uint64_t>(spec.late.at_most.count()) + 1)));
  return drawn;
}

}  // namespace switchyard::harness
