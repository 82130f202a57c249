// SPDX-License-Identifier: Apache-2.0
// The laws by which experts of tokens are drawn. Integers only, so that a seed means the same on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator_random.hpp"

namespace switchyard::harness {

/// The experts of tokens of one step, before slots are repeated or made invalid. Immutable, usable by several threads.
class expert_drawer {
 public:
  /// `num_tokens` is n of each rank in the step.
  expert_drawer(const case_spec& spec, std::uint64_t seed, int step, std::span<const std::int64_t> num_tokens);

  /// Fills a row of top_k ids. `random` is the sequence of the row.
  void fill(int rank, std::int64_t token, counter_random random, std::span<std::int32_t> ids) const;

 private:
  struct expert_range {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  void fill_balanced(int rank, std::int64_t token, std::span<std::int32_t> ids) const;
  void fill_zipf(counter_random random, std::span<std::int32_t> ids) const;
  void fill_hot_rank(counter_random random, std::span<std::int32_t> ids) const;
  void fill_hot_expert(counter_random random, std::span<std::int32_t> ids) const;
  void fill_grouped(counter_random random, std::span<std::int32_t> ids) const;
  [[nodiscard]] expert_range group(std::uint64_t index) const noexcept;

  routing_law routing_;
  routing_parameters law_;
  std::shared_ptr<const routing_trace> trace_;
  int step_;
  std::uint64_t num_experts_;
  std::int32_t no_expert_;
  std::vector<std::int32_t> permutation_;          // of the experts: of a balanced step, or by popularity
  std::vector<std::uint64_t> tokens_before_rank_;  // exclusive prefix sum of num_tokens; balanced
  std::vector<std::uint64_t> weight_before_;       // exclusive prefix sum of zipf_weights, and their sum; zipf
  std::vector<expert_range> owned_;                // experts of each rank
};

/// Repeats slots: each but the first, with chance `percent` in 100, becomes equal to one of those before it.
void repeat_slots(int percent, counter_random random, std::span<std::int32_t> ids);

/// Weights proportional to 1 / place^s, place = 1 .. num_experts, s = exponent_percent / 100: floor(2^40 / place^s) to
/// a relative 2^-24, but at least 1. From integer arithmetic alone: no machine's pow decides a draw.
std::vector<std::uint64_t> zipf_weights(std::int64_t num_experts, int exponent_percent);

}  // namespace switchyard::harness
