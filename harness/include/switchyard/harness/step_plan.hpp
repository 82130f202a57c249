// SPDX-License-Identifier: Apache-2.0
// The shape of one step of a case: how many tokens each rank has, which payloads travel, how combine is called.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

enum class combine_source : std::uint8_t {
  workspace_rows,  ///< expert outputs are written into combine_input_buffer
  private_rows,    ///< expert outputs lie in memory of the rank
};

/// One rank declares another value of `field` than all others do.
struct odd_declaration {
  int rank = 0;
  step_field field = step_field::none;
  friend bool operator==(const odd_declaration&, const odd_declaration&) = default;
};

struct step_plan {
  int step = 0;
  std::vector<std::int64_t> num_tokens;    ///< n of each rank
  std::vector<std::int64_t> padding_rows;  ///< of each rank: so many of its last tokens name no expert
  std::int64_t tokens_per_rank = 1;        ///< T; where ranks disagree, the largest that one of them passes
  bool own_tokens_per_rank = false;        ///< every rank passes max(1, its own n) as T
  std::optional<odd_declaration> odd;      ///< the step must fault
  bool topk_weights = false;               ///< the weights travel
  bool extra = false;                      ///< the extra payload travels
  std::int64_t eplb_stats_length = 0;      ///< integers of load statistics of each rank
  int invalid_percent = 0;
  bool foreign_invalid_ids = false;  ///< some invalid ids are other than invalid_expert_id, but name no expert either
  std::int64_t combine_hidden_size = 0;  ///< h
  combine_source source = combine_source::workspace_rows;
  switchyard::transport transport = switchyard::transport::fence;  ///< that the step must take
  rank_set active{};                                               ///< who takes part

  /// Whether `rank` is the one that declares another value of `field`.
  [[nodiscard]] bool is_odd(int rank, step_field field) const noexcept { return odd == odd_declaration{rank, field}; }
  /// The T that `rank` passes to dispatch.
  [[nodiscard]] std::int64_t tokens_per_rank_of(int rank) const noexcept {
    const auto own = num_tokens[static_cast<std::size_t>(rank)];
    if (own_tokens_per_rank) return own > 0 ? own : 1;
    return tokens_per_rank + (is_odd(rank, step_field::runtime_max_tokens_per_rank) ? 1 : 0);
  }
  /// The length of the statistics that `rank` passes to dispatch.
  [[nodiscard]] std::int64_t eplb_stats_length_of(int rank) const noexcept {
    return eplb_stats_length - (is_odd(rank, step_field::eplb_stats_length) ? 1 : 0);
  }
  /// The h that `rank` passes to combine.
  [[nodiscard]] std::int64_t combine_hidden_size_of(int rank) const noexcept {
    return combine_hidden_size - (is_odd(rank, step_field::combine_hidden_size) ? 1 : 0);
  }
  /// Whether ranks pass different T, so that the step must fault.
  [[nodiscard]] bool ranks_disagree() const noexcept;

  friend bool operator==(const step_plan&, const step_plan&) = default;
};

/// The plan of `step`: a pure function of its arguments, the same on every rank.
step_plan make_step_plan(const case_spec& spec, std::uint64_t seed, int step);

/// The largest T that a step of the case can have.
std::int64_t largest_tokens_per_rank(const case_spec& spec) noexcept;

/// Who sleeps before `which` of `step`, and how long; nobody (rank -1) when the case has no lateness.
struct delay {
  int rank = -1;
  std::chrono::microseconds length{0};
};
delay make_delay(const case_spec& spec, std::uint64_t seed, int step, phase which);

}  // namespace switchyard::harness
