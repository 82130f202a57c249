// SPDX-License-Identifier: Apache-2.0
#include "kept_views.hpp"

#include "rank_device.hpp"
#include "switchyard/harness/step_plan.hpp"

namespace switchyard::harness {

kept_views::kept_views(const case_spec& spec) {
  constexpr std::size_t alignment = 64;
  const auto place = [this](std::size_t bytes) {
    const auto at = end;
    end += (bytes + alignment - 1) / alignment * alignment;
    return at;
  };
  const auto rows = static_cast<std::size_t>(spec.ep_size) * static_cast<std::size_t>(largest_tokens_per_rank(spec));
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    payloads.at(i) = place(rows * payload_row_bytes(spec, all_payloads.at(i)));
  }
  counts = place(static_cast<std::size_t>(spec.ep_size) * sizeof(std::int32_t));
  dropped_routes = place(sizeof(std::int32_t));
  statistics =
      place(static_cast<std::size_t>(spec.ep_size) * static_cast<std::size_t>(spec.eplb_stats) * sizeof(std::int32_t));
  words = place(sizeof(replay_words));
}

std::size_t row_check_bytes(const case_spec& spec) {
  const auto rows = static_cast<std::size_t>(spec.ep_size) * static_cast<std::size_t>(largest_tokens_per_rank(spec));
  return row_check_found_bytes + (rows + 7) / 8 * 8 * sizeof(std::int64_t);
}

std::size_t replay_bytes(const case_spec& spec) { return spec.launch == launch_mode::eager ? 0 : kept_views(spec).end; }

}  // namespace switchyard::harness
