// SPDX-License-Identifier: Apache-2.0
// Load statistics: counted by each rank over all experts, gathered by all.
#include <string>

#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {

std::vector<std::int32_t> count_experts(const rank_routing& routing, std::int64_t length) {
  if (length < 0) throw invalid_argument("length is " + std::to_string(length) + ", must be at least 0");
  std::vector<std::int32_t> counts(static_cast<std::size_t>(length), 0);
  for (const std::int32_t id : routing.topk_ids) {
    if (id >= 0 && id < length) ++counts[static_cast<std::size_t>(id)];
  }
  return counts;
}

std::vector<std::int32_t> gather_statistics(std::span<const std::vector<std::int32_t>> of_ranks,
                                            const rank_set& active) {
  std::vector<std::int32_t> gathered;
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].size() != of_ranks[0].size()) {
      throw invalid_argument("statistics of rank " + std::to_string(rank) + " have length " +
                             std::to_string(of_ranks[rank].size()) + ", must have that of rank 0, " +
                             std::to_string(of_ranks[0].size()));
    }
    for (const std::int32_t count : of_ranks[rank]) {
      gathered.push_back(contains(active, static_cast<int>(rank)) ? count : 0);
    }
  }
  return gathered;
}

}  // namespace switchyard::reference
