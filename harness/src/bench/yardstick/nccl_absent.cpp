// SPDX-License-Identifier: Apache-2.0
// Stands in where NCCL's header was not found, or is too old.
#include "nccl_environment.hpp"
#include "switchyard/harness/bench_nccl.hpp"

namespace switchyard::harness {

void run_nccl_yardsticks(const bench_options&, const std::string&, nccl_observer& observer) {
  observer.nccl_found({{}, "this build did not find NCCL's header, 2.19 or newer", nccl_environment()});
}

}  // namespace switchyard::harness
