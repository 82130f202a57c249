// SPDX-License-Identifier: Apache-2.0
// Stands in where NCCL's header was not found.
#include "nccl_environment.hpp"
#include "switchyard/harness/bench_nccl.hpp"

namespace switchyard::harness {

void run_nccl_yardsticks(const bench_options&, const std::string&, nccl_observer& observer) {
  observer.library({{}, "this build did not find NCCL's header", nccl_environment()});
}

}  // namespace switchyard::harness
