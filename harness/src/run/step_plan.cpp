// SPDX-License-Identifier: Apache-2.0
// How steps of a case are drawn.
#include "switchyard/harness/step_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "switchyard/harness/generator.hpp"
#include "switchyard/harness/generator_random.hpp"
#include "switchyard/harness/rank_masks.hpp"

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

// From `least` to the capacity; in a third of the steps the least, so that the last row of a source is often a token.
std::int64_t draw_tokens_per_rank(counter_random& random, std::int64_t least, std::int64_t capacity) {
  const std::int64_t above = random.chance(1, 3) ? 0 : capacity - least;
  return least + static_cast<std::int64_t>(random.below(count_of(above) + 1));
}

std::int64_t tokens_of(const case_spec& spec, int step, int rank) {
  if (spec.trace) return spec.trace->num_tokens(step, rank);
  return spec.token_counts ? spec.token_counts->at(step, rank) : spec.num_tokens;
}

void empty_some_ranks(const case_spec& spec, std::uint64_t seed, int step, std::vector<std::int64_t>& counts) {
  auto random = random_for(random_use::empty_ranks, seed, step, 0);
  std::vector<std::size_t> ranks(counts.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  const auto empty = std::min(static_cast<std::size_t>(spec.empty_ranks), ranks.size());
  for (std::size_t i = 0; i < empty; ++i) {  // the first steps of a shuffle
    std::swap(ranks[i], ranks[i + random.below(ranks.size() - i)]);
    counts[ranks[i]] = 0;
  }
}

std::int64_t least_tokens_per_rank(const step_plan& plan) {
  return std::max<std::int64_t>(1, *std::ranges::max_element(plan.num_tokens));
}

void choose_tokens_per_rank(const case_spec& spec, std::uint64_t seed, int step, step_plan& plan) {
  plan.tokens_per_rank = spec.runtime_max_tokens.value_or(least_tokens_per_rank(plan));
  switch (spec.runtime_max_tokens_from) {
    case runtime_max_rule::tokens: break;
    case runtime_max_rule::capacity: plan.tokens_per_rank = spec.params.max_tokens_per_rank; break;
    case runtime_max_rule::drawn: {
      auto random = random_for(random_use::runtime_max_tokens, seed, step, 0);
      plan.tokens_per_rank = draw_tokens_per_rank(random, least_tokens_per_rank(plan), spec.params.max_tokens_per_rank);
      break;
    }
    case runtime_max_rule::own_tokens: plan.own_tokens_per_rank = true; break;
  }
}

void count_padding(const case_spec& spec, int step, step_plan& plan) {
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    plan.padding_rows.push_back(
        std::min(plan.num_tokens[static_cast<std::size_t>(rank)], spec.padding_rows.at(step, rank)));
  }
}

void vary(const case_spec& spec, std::uint64_t seed, int step, step_plan& plan) {
  auto random = random_for(random_use::plan, seed, step, 0);
  draw_token_counts(random, spec.num_tokens, plan.num_tokens);
  empty_some_ranks(spec, seed, step, plan.num_tokens);
  plan.tokens_per_rank = draw_tokens_per_rank(random, least_tokens_per_rank(plan), spec.params.max_tokens_per_rank);
  plan.topk_weights = spec.topk_weights && random.chance(3, 4);
  plan.extra = plan.extra && random.chance(1, 2);
  if (random.chance(1, 2)) plan.invalid_percent = std::max(spec.invalid_percent, random.chance(1, 4) ? 90 : 15);
  plan.foreign_invalid_ids = random.chance(1, 2);
  plan.combine_hidden_size = draw_combine_width(random, spec.params.hidden_size);
  plan.source = random.chance(1, 2) ? combine_source::workspace_rows : combine_source::private_rows;
  if (spec.eplb_stats > 0 && random.chance(1, 2)) {
    plan.eplb_stats_length = static_cast<std::int64_t>(random.below(count_of(spec.eplb_stats) + 1));
  }
}

/// The rule of the contract, worked out apart from the library.
transport transport_of(const case_spec& spec, const step_plan& plan) {
  if (spec.lamport == choice::off || plan.tokens_per_rank > spec.lamport_max_tokens) return transport::fence;
  for (const auto kind : all_payloads) {
    const bool travels =
        (kind != payload_kind::topk_weights || plan.topk_weights) && (kind != payload_kind::extra || plan.extra);
    if (travels && payload_row_bytes(spec, kind, plan.step) % 4 != 0) return transport::fence;
  }
  return transport::lamport;
}

}  // namespace

bool step_plan::ranks_disagree() const noexcept {
  for (std::size_t rank = 1; rank < num_tokens.size(); ++rank) {
    if (tokens_per_rank_of(static_cast<int>(rank)) != tokens_per_rank_of(0)) return true;
  }
  return false;
}

std::int64_t largest_tokens_per_rank(const case_spec& spec) noexcept {
  const bool up_to_capacity = spec.variation == step_variation::vary ||
                              spec.runtime_max_tokens_from == runtime_max_rule::capacity ||
                              spec.runtime_max_tokens_from == runtime_max_rule::drawn;
  if (up_to_capacity) return spec.params.max_tokens_per_rank;
  const bool one_more = spec.inject && spec.inject->kind == fault_kind::disagree &&
                        spec.inject->field == step_field::runtime_max_tokens_per_rank;
  return spec.runtime_max_tokens.value_or(std::max<std::int64_t>(1, spec.num_tokens)) + (one_more ? 1 : 0);
}

step_plan make_step_plan(const case_spec& spec, std::uint64_t seed, int step) {
  step_plan plan;
  plan.step = step;
  plan.active = active_ranks_of(spec, step);
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    plan.num_tokens.push_back(tokens_of(spec, step, rank));
  }
  plan.topk_weights = spec.topk_weights;
  plan.extra = spec.extra_bytes > 0;
  plan.eplb_stats_length = spec.eplb_stats;
  plan.invalid_percent = spec.invalid_percent;
  plan.combine_hidden_size = spec.params.hidden_size;
  plan.source = step % 2 == 0 ? combine_source::workspace_rows : combine_source::private_rows;
  if (spec.variation == step_variation::vary) {
    vary(spec, seed, step, plan);
  } else {
    empty_some_ranks(spec, seed, step, plan.num_tokens);
    choose_tokens_per_rank(spec, seed, step, plan);
  }
  if (spec.inject && spec.inject->kind == fault_kind::disagree && spec.inject->step == step) {
    plan.odd = odd_declaration{spec.inject->rank, spec.inject->field};
  }
  count_padding(spec, step, plan);
  plan.transport = transport_of(spec, plan);
  return plan;
}

delay make_delay(const case_spec& spec, std::uint64_t seed, int step, phase which) {
  if (spec.late.at_most.count() <= 0) return {};
  auto random = random_for(random_use::lateness, seed, step, static_cast<std::uint64_t>(which));
  delay drawn;
  // Drawn also where the case says who it is: the lengths stay the same.
  const auto anyone = static_cast<int>(random.below(static_cast<std::uint64_t>(spec.ep_size)));
  drawn.rank = spec.late.rank.value_or(anyone);
  drawn.length = std::chrono::microseconds(
      static_cast<std::int64_t>(random.next() % (static_cast<std::uint64_t>(spec.late.at_most.count()) + 1)));
  return drawn;
}

}  // namespace switchyard::harness
