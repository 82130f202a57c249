// SPDX-License-Identifier: Apache-2.0
// Stands in for GPUs in a build without CUDA.
#include "switchyard/harness/machine.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {

gpu_list find_gpus() {
  throw environment_error("fabric cuda: " + one_sided_all_to_all::platform_support(fabric_kind::cuda, 0).reason);
}

int count_gpus() noexcept { return 0; }

std::optional<std::string> pci_address_of_gpu(int, int) { return std::nullopt; }

std::shared_ptr<machine> open_gpus(int, const machine_ranks&) {
  (void)find_gpus();
  return nullptr;
}

}  // namespace switchyard::harness
