// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "layout/workspace_layout.hpp"
#include "rules.hpp"
#include "switchyard/config.hpp"

namespace switchyard {

std::vector<workspace_region> workspace_regions(const comm_params& params, const one_sided_config& config,
                                                int ep_size) {
  check_group(params, config, ep_size);
  const auto plan = layout::make_layout(extents_of(params, config, ep_size));
  std::vector<workspace_region> regions;
  for (const auto& spec : layout::region_table) {
    regions.push_back({std::string(spec.name), plan.offset_of(spec.id), plan.size_of(spec.id)});
  }
  return regions;
}

std::size_t workspace_bytes(const comm_params& params, const one_sided_config& config, int ep_size) {
  check_group(params, config, ep_size);
  return layout::make_layout(extents_of(params, config, ep_size)).total_bytes;
}

}  // namespace switchyard
