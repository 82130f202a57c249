// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/case_layers.hpp"

#include <algorithm>

namespace switchyard::harness {
namespace {

/// visit(format) for each format that fits a workspace made for `first`, from that one on and round.
template <typename Visit>
void for_each_within(dispatch_format first, std::int64_t hidden_size, Visit visit) noexcept {
  const auto elements = static_cast<std::size_t>(hidden_size);
  const auto room = bytes_of(first, elements);
  const auto at = std::ranges::find(all_dispatch_formats, first) - all_dispatch_formats.begin();
  for (std::size_t i = 0; i < all_dispatch_formats.size(); ++i) {
    const auto format = all_dispatch_formats.at((static_cast<std::size_t>(at) + i) % all_dispatch_formats.size());
    const auto bytes = bytes_of(format, elements);
    if (bytes.hidden_states > room.hidden_states || bytes.hidden_states_scale > room.hidden_states_scale) continue;
    visit(format);
  }
}

}  // namespace

int layers_left(const case_spec& spec, int step) noexcept {
  const int retired = spec.retire_every > 0 ? step / spec.retire_every : 0;
  return std::max(1, spec.layers - retired);
}

int layer_of(const case_spec& spec, int step) noexcept { return step % layers_left(spec, step); }

int formats_within(dispatch_format format, std::int64_t hidden_size) noexcept {
  int count = 0;
  for_each_within(format, hidden_size, [&](dispatch_format) { ++count; });
  return count;
}

comm_params params_of_step(const case_spec& spec, int step) noexcept {
  auto params = spec.params;
  if (spec.layer_formats == layer_format_rule::same || !params.dispatch_format) return params;
  int turn = layer_of(spec, step) % formats_within(*params.dispatch_format, params.hidden_size);
  for_each_within(*spec.params.dispatch_format, params.hidden_size, [&](dispatch_format format) {
    if (turn-- == 0) params.dispatch_format = format;
  });
  return params;
}

bool is_checkpoint(const case_spec& spec, int step) noexcept {
  return spec.checkpoint_every > 0 && step > 0 && step % spec.checkpoint_every == 0;
}

bool is_beside(const case_spec& spec, int step) noexcept {
  return spec.side_workspace_every > 0 && (step + 1) % spec.side_workspace_every == 0;
}

comm_params side_params_of(const case_spec& spec) {
  auto params = spec.params;
  ++params.max_tokens_per_rank;
  return params;
}

}  // namespace switchyard::harness
