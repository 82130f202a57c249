// SPDX-License-Identifier: Apache-2.0
// The inputs of all ranks in one step, and what the golden model makes of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/generator.hpp"
#include "switchyard/payloads.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {

/// Input buffers of every rank, filled anew for one step after another.
class step_inputs {
 public:
  /// Allocates buffers for the largest step of `spec`. Throws what the resource throws.
  step_inputs(const case_spec& spec, std::pmr::memory_resource& memory);

  /// Bytes that the constructor takes from its resource.
  static std::size_t footprint(const case_spec& spec);

  /// Makes the inputs and the golden model's answer for `step`.
  void generate(std::uint64_t seed, int step);

  [[nodiscard]] int step() const noexcept { return generator_ ? generator_->step() : -1; }
  [[nodiscard]] const step_generator& generator() const { return *generator_; }
  [[nodiscard]] const step_plan& plan() const { return generator_->plan(); }
  [[nodiscard]] const comm_params& params() const noexcept { return generator_->params(); }
  [[nodiscard]] int ep_size() const noexcept { return spec_.ep_size; }

  /// Row `token` of `rank`, generator().row_bytes(kind) bytes.
  [[nodiscard]] const std::byte* row(payload_kind kind, int rank, std::int64_t token) const noexcept;
  [[nodiscard]] std::span<const std::int32_t> topk_ids(int rank, std::int64_t token) const noexcept;
  /// Empty when the weights do not travel in this step.
  [[nodiscard]] std::span<const float> topk_weights(int rank, std::int64_t token) const noexcept;
  /// What rank `rank` passes to dispatch. With no tokens every pointer is null, which must not matter.
  [[nodiscard]] dispatch_inputs arguments(int rank) const noexcept;
  [[nodiscard]] const fenced_buffer& buffer(payload_kind kind, int rank) const noexcept;
  /// What `rank` has counted of its own choices: plan().eplb_stats_length_of(rank) integers.
  [[nodiscard]] const fenced_buffer& statistics(int rank) const noexcept {
    return statistics_[static_cast<std::size_t>(rank)];
  }
  /// What every rank must have of all of them: [ep_size, plan().eplb_stats_length].
  [[nodiscard]] std::span<const std::int32_t> gathered_statistics() const noexcept { return gathered_; }

  /// What `rank` must hold after dispatch.
  [[nodiscard]] const reference::dispatched_rank& golden(int rank) const {
    return golden_[static_cast<std::size_t>(rank)];
  }
  /// Bytes of hidden states, scales and extra payloads of this step, per rank.
  [[nodiscard]] std::span<const reference::traffic> traffic() const noexcept { return traffic_; }
  /// Bytes of expert outputs that other ranks return, to all ranks.
  [[nodiscard]] std::uint64_t returned_bytes() const noexcept { return returned_bytes_; }

 private:
  void fill_rank(int rank);
  void count_experts(std::span<const reference::rank_routing> routing);

  case_spec spec_;
  std::vector<std::array<fenced_buffer, all_payloads.size()>> buffers_;
  std::vector<fenced_buffer> statistics_;
  std::vector<std::int32_t> gathered_;
  std::optional<step_generator> generator_;
  std::vector<reference::dispatched_rank> golden_;
  std::vector<reference::traffic> traffic_;
  std::uint64_t returned_bytes_ = 0;
};

}  // namespace switchyard::harness
