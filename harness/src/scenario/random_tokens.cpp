// SPDX-License-Identifier: Apache-2.0
// How many tokens the ranks of a drawn case have, and the row stride that goes with them.
#include <algorithm>
#include <array>

#include "random_draft.hpp"

namespace switchyard::harness {
namespace {

std::int64_t draw_count(corner_random& random, std::int64_t most) {
  return random.number(0, most, {0, 1, most - 1, most});
}

/// A text of counts up to `most`, for one to four steps, each with one count or one for each rank; and the largest.
std::pair<std::string, std::int64_t> draw_counts(random_draft& draft, std::int64_t most) {
  auto& random = draft.random;
  std::string text;
  std::int64_t largest = 0;
  const auto steps = random.number(1, 4, {1, 2});
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto counts = random.chance(1, 4) ? 1 : draft.shape.ranks;
    for (std::int64_t i = 0; i < counts; ++i) {
      const auto count = draw_count(random, most);
      largest = std::max(largest, count);
      text += (i > 0 ? ":" : step > 0 ? "/" : "") + std::to_string(count);
    }
  }
  return {std::move(text), largest};
}

/// Counts of one step of which rank 0 and another make different row strides. Precondition: capacity >= 2.
std::pair<std::string, std::int64_t> draw_unequal_counts(random_draft& draft) {
  auto& random = draft.random;
  const auto capacity = draft.shape.capacity;
  const auto other = random.evenly(1, draft.shape.ranks - 1);
  const bool rank_0_has_more = random.chance(1, 2);
  const auto more = random.number(2, capacity, {2, capacity});
  const auto less = draw_count(random, more - 1);
  std::string text = std::to_string(rank_0_has_more ? more : less);
  for (std::int64_t rank = 1; rank < draft.shape.ranks; ++rank) {
    const auto count = rank != other ? draw_count(random, more) : rank_0_has_more ? less : more;
    text += ':' + std::to_string(count);
  }
  return {std::move(text), more};
}

void draw_disagreement(random_draft& draft) {
  auto [counts, largest] = draw_unequal_counts(draft);
  draft.set("token_counts", std::move(counts));
  draft.set_word("runtime_max_tokens_from", to_string(runtime_max_rule::own_tokens));
  if (draft.random.chance(1, 2)) draft.set("max_tokens_per_rank", draft.random.evenly(largest, draft.shape.capacity));
}

/// T, and the capacity: largest <= runtime_max_tokens <= max_tokens_per_rank <= capacity of the shape, where each may
/// be left to follow the one before.
void draw_strides(random_draft& draft, std::int64_t largest, bool vary) {
  auto& random = draft.random;
  const auto capacity = draft.shape.capacity;
  auto rows = std::max<std::int64_t>(1, largest);
  const auto above = [&] { return random.number(rows, capacity, {rows, rows + 1, capacity}); };
  if (random.chance(1, 4)) {
    rows = above();
    draft.set("runtime_max_tokens", rows);
  } else if (!vary && random.chance(1, 2)) {
    constexpr std::array rules{runtime_max_rule::tokens, runtime_max_rule::capacity, runtime_max_rule::drawn};
    draft.set_word("runtime_max_tokens_from", to_string(random.one_of(rules)));
  }
  if (random.chance(1, 2)) draft.set("max_tokens_per_rank", above());
}

}  // namespace

void draw_tokens(random_draft& draft) {
  auto& random = draft.random;
  const auto capacity = draft.shape.capacity;
  if (random.chance(1, 5)) draft.set("padding_rows", draw_counts(draft, std::max<std::int64_t>(1, capacity)).first);
  if (draft.fault == drawn_fault::own_tokens) {
    draw_disagreement(draft);
    return;
  }
  const bool vary = random.chance(1, 3);
  if (vary || random.chance(1, 8)) {
    draft.set_word("variation", to_string(vary ? step_variation::vary : step_variation::fixed));
  }
  std::int64_t largest = 0;
  if (!vary && random.chance(1, 3)) {
    auto [counts, most] = draw_counts(draft, capacity);
    draft.set("token_counts", std::move(counts));
    largest = most;
  } else {
    largest = random.number(0, capacity, {0, 1, capacity - 1, capacity, capacity});
    draft.set("tokens", largest);
  }
  const auto ranks = draft.shape.ranks;
  if (random.chance(1, 6)) draft.set("empty_ranks", random.number(0, ranks, {0, 1, ranks - 1, ranks}));
  draw_strides(draft, largest, vary);
}

}  // namespace switchyard::harness
