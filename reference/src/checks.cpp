// SPDX-License-Identifier: Apache-2.0
// Checks of shapes and routing.
#include "checks.hpp"

#include <algorithm>
#include <string>

#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {
namespace {

void check_range(const std::string& field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return;
  throw invalid_argument(field + " is " + std::to_string(value) + ", but must be " + std::to_string(low) + " .. " +
                         std::to_string(high));
}

void check_positive(const std::string& field, std::int64_t value) {
  if (value <= 0) throw invalid_argument(field + " is " + std::to_string(value) + ", but must be > 0");
}

}  // namespace

void check_params(const comm_params& params, int ep_size) {
  check_range("ep_size", ep_size, 1, max_ep_size);
  check_positive("max_tokens_per_rank", params.max_tokens_per_rank);
  check_positive("hidden_size", params.hidden_size);
  if (params.num_experts < ep_size) {
    throw invalid_argument("num_experts is " + std::to_string(params.num_experts) + ", but must be >= ep_size (" +
                           std::to_string(ep_size) + ")");
  }
  check_range("top_k", params.top_k, 1, std::min<std::int64_t>(params.num_experts, max_top_k));
  if (params.invalid_expert_id >= 0 && params.invalid_expert_id < params.num_experts) {
    throw invalid_argument("invalid_expert_id is " + std::to_string(params.invalid_expert_id) +
                           ", but must be outside [0, " + std::to_string(params.num_experts) + ")");
  }
}

void check_step(const step_shape& shape, std::span<const rank_routing> routing) {
  check_params(shape.params, shape.ep_size);
  check_range("tokens_per_rank", shape.tokens_per_rank, 1, shape.params.max_tokens_per_rank);
  if (routing.size() != static_cast<std::size_t>(shape.ep_size)) {
    throw invalid_argument("routing has " + std::to_string(routing.size()) + " entries, but must have ep_size (" +
                           std::to_string(shape.ep_size) + ")");
  }
  for (std::size_t rank = 0; rank < routing.size(); ++rank) {
    const rank_routing& of_rank = routing[rank];
    check_range("num_tokens of rank " + std::to_string(rank), of_rank.num_tokens, 0, shape.tokens_per_rank);
    const auto num_ids = static_cast<std::size_t>(of_rank.num_tokens * shape.params.top_k);
    if (of_rank.topk_ids.size() != num_ids) {
      throw invalid_argument("topk_ids of rank " + std::to_string(rank) + " has " +
                             std::to_string(of_rank.topk_ids.size()) + " ids, but must have num_tokens * top_k (" +
                             std::to_string(num_ids) + ")");
    }
  }
}

}  // namespace switchyard::reference
