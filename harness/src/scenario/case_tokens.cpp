// SPDX-License-Identifier: Apache-2.0
// Tokens, padding and row strides out of the settings of a case.
#include "case_tokens.hpp"

#include <algorithm>

namespace switchyard::harness {
namespace {

/// The field that says how many tokens there are, for refusals.
std::string_view read_num_tokens(case_spec& into, const settings_reader& from) {
  if (into.trace) return "trace";
  if (!from.has("token_counts")) {
    const auto tokens = from.integer("tokens");
    from.require(tokens.has_value(), "tokens", "missing: a scenario has tokens, token_counts or a trace");
    into.num_tokens = *tokens;
    return "tokens";
  }
  from.require(!from.has("tokens"), "tokens", "cannot be set beside token_counts, which replaces it");
  from.require(into.variation == step_variation::fixed, "token_counts",
               "cannot go with variation vary, which draws the counts");
  into.token_counts = from.counts("token_counts", into.ep_size);
  into.num_tokens = into.token_counts->largest();
  return "token_counts";
}

void read_runtime_max_tokens(case_spec& into, const settings_reader& from) {
  into.runtime_max_tokens = from.integer("runtime_max_tokens");
  if (!from.has("runtime_max_tokens_from")) return;
  into.runtime_max_tokens_from =
      from.choice("runtime_max_tokens_from", all_runtime_max_rules, into.runtime_max_tokens_from);
  from.require(!into.runtime_max_tokens, "runtime_max_tokens_from",
               "cannot be set beside runtime_max_tokens: one of them says what T is");
  from.require(into.variation == step_variation::fixed, "runtime_max_tokens_from",
               "cannot go with variation vary, which draws T");
}

/// Such a case must fault, so it must be sure that in some step two ranks have different strides.
void require_disagreement(const case_spec& spec, const settings_reader& from) {
  if (spec.runtime_max_tokens_from != runtime_max_rule::own_tokens) return;
  const auto count = [&](int step, int rank) {
    if (spec.trace) return spec.trace->num_tokens(step, rank);
    return spec.token_counts ? spec.token_counts->at(step, rank) : spec.num_tokens;
  };
  const auto rows = spec.trace          ? spec.trace->about().steps
                    : spec.token_counts ? static_cast<int>(spec.token_counts->steps())
                                        : 1;
  bool differ = false;
  for (int step = 0; step < std::min(rows, spec.steps); ++step) {
    bool counts_differ = false;
    std::int64_t least = count(step, 0);
    for (int rank = 1; rank < spec.ep_size; ++rank) {
      counts_differ |= std::max<std::int64_t>(1, count(step, rank)) != std::max<std::int64_t>(1, count(step, 0));
      least = std::min(least, count(step, rank));
    }
    // Which ranks are empty is drawn when the case runs: an empty one passes 1, so the others must pass more.
    const bool some_empty = spec.empty_ranks > 0 && spec.empty_ranks < spec.ep_size && least >= 2;
    differ |= spec.empty_ranks > 0 ? some_empty : counts_differ;
  }
  from.require(differ, "runtime_max_tokens_from",
               "needs token_counts, empty_ranks or a trace by which ranks surely disagree: equal counts make no fault");
}

}  // namespace

void read_tokens(case_spec& into, const settings_reader& from) {
  const auto counted_by = read_num_tokens(into, from);
  if (auto padding = from.counts("padding_rows", into.ep_size)) into.padding_rows = *std::move(padding);
  into.empty_ranks = from.small("empty_ranks", into.empty_ranks);
  read_runtime_max_tokens(into, from);
  require_disagreement(into, from);
  const auto rows = into.runtime_max_tokens.value_or(std::max<std::int64_t>(1, into.num_tokens));
  into.params.max_tokens_per_rank = from.integer("max_tokens_per_rank").value_or(rows);
  const auto capacity = into.params.max_tokens_per_rank;
  from.require(into.num_tokens <= rows, counted_by,
               "must be at most runtime_max_tokens (" + std::to_string(rows) + ")");
  from.require(rows <= capacity, "max_tokens_per_rank",
               "must be at least tokens and runtime_max_tokens (" + std::to_string(rows) + ")");
}

}  // namespace switchyard::harness
