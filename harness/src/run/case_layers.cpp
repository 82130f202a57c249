// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/case_layers.hpp"

#include <algorithm>

namespace switchyard::harness {

int layers_left(const case_spec& spec, int step) noexcept {
  const int retired = spec.retire_every > 0 ? step / spec.retire_every : 0;
  return std::max(1, spec.layers - retired);
}

int layer_of(const case_spec& spec, int step) noexcept { return step % layers_left(spec, step); }

bool is_checkpoint(const case_spec& spec, int step) noexcept {
  return spec.checkpoint_every > 0 && step > 0 && step % spec.checkpoint_every == 0;
}

}  // namespace switchyard::harness
