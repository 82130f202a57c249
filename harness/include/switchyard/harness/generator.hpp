// SPDX-License-Identifier: Apache-2.0
// The inputs of a step. Every row is a pure function of (seed, step, rank, token), so a checker can make any row again
// and a row of another step, rank or token never passes for the right one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator_random.hpp"
#include "switchyard/harness/step_plan.hpp"

namespace switchyard::harness {

/// The payloads of a dispatch, in the order of dispatch_inputs.
enum class payload_kind : std::uint8_t { hidden_states, topk_ids, topk_weights, hidden_states_scale, extra };

inline constexpr std::array all_payloads = {payload_kind::hidden_states, payload_kind::topk_ids,
                                            payload_kind::topk_weights, payload_kind::hidden_states_scale,
                                            payload_kind::extra};

std::string_view to_string(payload_kind kind) noexcept;

/// Bytes of a row of `kind` in a case, of the widest where layers have formats of their own; 0 when the case never has
/// that payload.
std::size_t payload_row_bytes(const case_spec& spec, payload_kind kind) noexcept;

/// The same in `step`, if the payload travels in it.
std::size_t payload_row_bytes(const case_spec& spec, payload_kind kind, int step) noexcept;

/// Whether hidden states travel as elements of row_dtype(); else they are codes under scales.
bool rows_are_elements(const comm_params& params) noexcept;

/// That of the dispatch format where it is a type, else params.dtype.
dtype row_dtype(const comm_params& params) noexcept;

class expert_drawer;

/// Makes rows of one step. Immutable, usable by several threads.
class step_generator {
 public:
  step_generator(const case_spec& spec, std::uint64_t seed, int step);

  [[nodiscard]] int step() const noexcept { return step_; }
  [[nodiscard]] const step_plan& plan() const noexcept { return plan_; }
  /// Those of the case, with the format of this step.
  [[nodiscard]] const comm_params& params() const noexcept { return params_; }
  /// Bytes of a row in this step; 0 when the payload does not travel in it.
  [[nodiscard]] std::size_t row_bytes(payload_kind kind) const noexcept {
    return row_bytes_[static_cast<std::size_t>(kind)];
  }

  /// Writes row `token` of `rank`, row_bytes(kind) bytes. Precondition: 0 <= token < plan().num_tokens[rank].
  ///
  /// hidden_states: as case_spec::values says. random, when rows are elements: finite normal values of both signs over
  ///   8 or 16 powers of two and one -0; one row in 64 has random bits instead, so that subnormals, infinities and NaNs
  ///   travel too. Formats with scales: bell-shaped values, quantised as reference/quantise.hpp says, and the same one
  ///   row in 64 of random bits. Else random bytes.
  /// topk_ids: by the routing law, then some slots repeated, then some replaced by ids that name no expert; no slot of
  /// a
  ///   padding row names one.
  /// topk_weights: those of the case's trace; without one, fp32 multiples of 2^-15 in (0, 2].
  /// hidden_states_scale: those of the hidden states where these were quantised; else, and extra: random bytes.
  void fill_row(payload_kind kind, int rank, std::int64_t token, std::byte* out) const;

 private:
  [[nodiscard]] std::uint64_t row_key(random_use use, int rank, std::int64_t token) const noexcept;
  void fill_hidden_row(int rank, std::int64_t token, std::byte* out) const;
  void fill_scale_row(int rank, std::int64_t token, std::byte* out) const;
  /// The row and its scales, where these are quantised: `row` null: only the scales, and the other way round.
  [[nodiscard]] bool fill_quantised(int rank, std::int64_t token, std::byte* row, std::byte* scales) const;
  void fill_id_row(int rank, std::int64_t token, std::byte* out) const;
  void fill_weight_row(int rank, std::int64_t token, std::byte* out) const;

  comm_params params_;
  hidden_values values_;
  int duplicate_percent_;
  std::shared_ptr<const routing_trace> trace_;
  std::uint64_t seed_;
  int step_;
  step_plan plan_;
  std::array<std::size_t, all_payloads.size()> row_bytes_{};
  std::shared_ptr<const expert_drawer> experts_;  // shared by copies: immutable
};

}  // namespace switchyard::harness
