// SPDX-License-Identifier: Apache-2.0
// What a rank of a case declares to its peers in a step: the values on which all must agree, and in which a case may
// make one rank disagree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/harness/step_plan.hpp"

namespace switchyard::harness {

/// Whether a header's field tells of the routing instead of what was declared. Headers of Lamport steps have none such.
constexpr bool is_of_routing(step_field field) noexcept {
  return field == step_field::row_count || field == step_field::routed_bitmap;
}

struct declared_step {
  std::int64_t tokens_per_rank = 1;                          ///< T
  std::array<std::size_t, all_payloads.size()> row_bytes{};  ///< of each payload; 0: it does not travel
  std::int64_t eplb_stats_length = 0;                        ///< of the load statistics
  std::int64_t combine_hidden_size = 0;                      ///< h
  dtype combine_dtype = dtype::bf16;
  int layer = 0;    ///< which of the instances that share the workspace runs the step
  rank_set mask{};  ///< the ranks that take part
};

/// What `rank` declares in the step that `plan` is of.
declared_step declared_by(const case_spec& spec, const step_plan& plan, int rank);

/// The value that a fault record gives for `field`; 0 for a field that no caller declares.
std::uint64_t value_of(const declared_step& declared, step_field field) noexcept;

}  // namespace switchyard::harness
