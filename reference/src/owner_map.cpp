// SPDX-License-Identifier: Apache-2.0
// Which rank owns an expert, and which ranks a token goes to.
#include <algorithm>
#include <string>

#include "switchyard/reference/golden_model.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::reference {

int owner_of(std::int64_t expert, std::int64_t num_experts, int ep_size) {
  if (ep_size < 1) throw invalid_argument("owner_of: ep_size is " + std::to_string(ep_size) + ", but must be >= 1");
  if (expert < 0 || expert >= num_experts) return -1;
  const std::int64_t smaller = num_experts / ep_size;     // experts of the later ranks
  const std::int64_t larger = smaller + 1;                // experts of the first ranks
  const std::int64_t num_larger = num_experts % ep_size;  // how many ranks own one more
  const std::int64_t in_larger = num_larger * larger;     // experts that the first ranks own together
  // With fewer experts than ranks `smaller` is 0, and then every expert is in the first part.
  if (expert < in_larger) return static_cast<int>(expert / larger);
  return static_cast<int>(num_larger + (expert - in_larger) / smaller);
}

std::vector<int> owners_in_slot_order(std::span<const std::int32_t> topk_ids, std::int64_t num_experts, int ep_size,
                                      const rank_set& active) {
  std::vector<int> owners;
  for (const std::int32_t id : topk_ids) {
    const int owner = owner_of(id, num_experts, ep_size);
    if (owner < 0 || !contains(active, owner)) continue;
    if (std::find(owners.begin(), owners.end(), owner) == owners.end()) owners.push_back(owner);
  }
  return owners;
}

}  // namespace switchyard::reference
