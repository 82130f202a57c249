// SPDX-License-Identifier: Apache-2.0
// A small case that tests start from, an arena for it, and what its result was in words.
#pragma once

#include <cstdint>
#include <string>

#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/run_case.hpp"

namespace switchyard::harness {

inline case_spec small_case(int ep_size) {
  case_spec spec;
  spec.suite = "unit";
  spec.name = "small";
  spec.id = "unit/small";
  spec.ep_size = ep_size;
  spec.params.num_experts = 10;
  spec.params.top_k = 4;
  spec.params.max_tokens_per_rank = 12;
  spec.params.hidden_size = 24;
  spec.num_tokens = 9;
  spec.runtime_max_tokens = 11;
  spec.extra_bytes = 20;
  spec.steps = 4;
  return spec;
}

inline case_result run_on_host(const case_spec& spec) {
  arena memory(required_bytes(spec));
  return run_case(spec, memory, {});
}

/// For the message of a failed assertion.
inline std::string explain(const case_result& result) {
  std::string text = std::string(to_string(result.status)) + ": " + result.reason;
  for (const auto& found : result.findings) text += "\n  " + describe(found);
  for (const auto& fault : result.faults) text += "\n  rank " + std::to_string(fault.rank) + ": " + fault.message;
  return text;
}

inline constexpr std::size_t small_arena_bytes = std::size_t{16} << 20;

}  // namespace switchyard::harness
