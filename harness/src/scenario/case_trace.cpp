// SPDX-License-Identifier: Apache-2.0
// What a trace decides, and what must fit it.
#include "case_trace.hpp"

#include <filesystem>

#include "json_members.hpp"

namespace switchyard::harness {
namespace {

std::shared_ptr<const routing_trace> load(const settings_reader& from, const suite& where) {
  const auto name = from.word("trace", "");
  // A name and not a path: a scenario reads nothing but the folder beside it.
  from.require(is_word(name), "trace", "must be a text of one or more of a-z, 0-9 and _");
  from.require(where.traces != nullptr, "trace", "cannot be found: this suite has no folder");
  const auto path = where.traces->path_of(name);
  std::error_code failure;
  from.require(std::filesystem::exists(path, failure), "trace", "there is no file " + path.string());
  return where.traces->load(name);
}

}  // namespace

void read_trace(case_spec& into, const settings_reader& from, const suite& where) {
  into.routing = from.choice("routing", all_routing_laws, into.routing);
  const bool due = into.routing == routing_law::trace;
  from.require(!due || from.has("trace"), "trace", "missing: routing trace needs one");
  from.require(due || !from.has("trace"), "trace",
               "needs routing trace, but routing is " + std::string(to_string(into.routing)));
  if (!due) return;
  for (const auto* field : {"tokens", "token_counts", "empty_ranks"}) {
    from.require(!from.has(field), field, "cannot be set beside a trace, which says how many tokens each rank has");
  }
  from.require(into.variation == step_variation::fixed, "variation", "must be fixed with a trace: vary draws counts");
  into.trace = load(from, where);
  const auto& about = into.trace->about();
  const auto must_fit = [&](std::string_view field, std::int64_t value, std::int64_t of_trace) {
    from.require(value == of_trace, from.has(field) ? field : "profile",
                 "must have the " + std::string(field) + " of trace " + about.name + " (" + std::to_string(of_trace) +
                     "), not " + std::to_string(value));
  };
  must_fit("top_k", into.params.top_k, about.top_k);
  if (about.num_experts) must_fit("num_experts", into.params.num_experts, *about.num_experts);
  from.require(into.ep_size >= about.ranks, "ranks",
               "must be at least the ranks of trace " + about.name + " (" + std::to_string(about.ranks) + ")");
  into.num_tokens = into.trace->largest_num_tokens();
  into.steps = about.steps;
}

}  // namespace switchyard::harness
