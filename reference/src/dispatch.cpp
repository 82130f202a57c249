// SPDX-License-Identifier: Apache-2.0
// Where every token lands: rows are sorted by source token, with gaps or without.
#include "checks.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::reference {

std::vector<dispatched_rank> dispatch(const step_shape& shape, std::span<const rank_routing> routing) {
  check_step(shape, routing);
  const auto ep_size = static_cast<std::size_t>(shape.ep_size);
  const auto stride = static_cast<std::size_t>(shape.tokens_per_rank);
  const auto top_k = static_cast<std::size_t>(shape.params.top_k);

  const dispatched_rank nothing{std::vector<std::int32_t>(ep_size, 0), std::vector<std::int64_t>(ep_size * stride, -1),
                                0};
  std::vector<dispatched_rank> ranks(ep_size, nothing);
  for (std::size_t source = 0; source < ep_size; ++source) {
    if (!contains(shape.active, static_cast<int>(source))) continue;
    const std::span<const std::int32_t> ids = routing[source].topk_ids;
    for (std::int64_t token = 0; token < routing[source].num_tokens; ++token) {
      const auto row_ids = ids.subspan(static_cast<std::size_t>(token) * top_k, top_k);
      for (const std::int32_t id : row_ids) {
        const int owner = owner_of(id, shape.params.num_experts, shape.ep_size);
        if (owner >= 0 && !contains(shape.active, owner)) ++ranks[source].dropped_routes;
      }
      for (const int owner : owners_in_slot_order(row_ids, shape.params.num_experts, shape.ep_size, shape.active)) {
        dispatched_rank& destination = ranks[static_cast<std::size_t>(owner)];
        std::int32_t& count = destination.recv_counts[source];
        const auto row = shape.rows == row_order::positional ? token : std::int64_t{count};
        destination.source_tokens[source * stride + static_cast<std::size_t>(row)] = token;
        ++count;
      }
    }
  }
  return ranks;
}

}  // namespace switchyard::reference
