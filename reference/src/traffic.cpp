// SPDX-License-Identifier: Apache-2.0
// Bytes that a step must move, counted row by row.
#include "checks.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference {

std::vector<traffic> count_traffic(const step_shape& shape, std::span<const rank_routing> routing,
                                   std::size_t row_bytes) {
  check_step(shape, routing);
  const auto ep_size = static_cast<std::size_t>(shape.ep_size);
  const auto top_k = static_cast<std::size_t>(shape.params.top_k);

  std::vector<traffic> ranks(ep_size);
  for (std::size_t source = 0; source < ep_size; ++source) {
    if (!contains(shape.active, static_cast<int>(source))) continue;
    const std::span<const std::int32_t> ids = routing[source].topk_ids;
    for (std::size_t first = 0; first < ids.size(); first += top_k) {
      const auto row_ids = ids.subspan(first, top_k);
      for (const std::int32_t id : row_ids) {
        const int owner = owner_of(id, shape.params.num_experts, shape.ep_size);
        if (owner >= 0 && contains(shape.active, owner)) ranks[source].selection_bytes += row_bytes;
      }
      for (const int owner : owners_in_slot_order(row_ids, shape.params.num_experts, shape.ep_size, shape.active)) {
        const auto destination = static_cast<std::size_t>(owner);
        ranks[source].unique_bytes += row_bytes;
        if (destination == source) continue;
        ranks[source].remote_send_bytes += row_bytes;
        ranks[destination].remote_recv_bytes += row_bytes;
      }
    }
  }
  return ranks;
}

}  // namespace switchyard::reference
