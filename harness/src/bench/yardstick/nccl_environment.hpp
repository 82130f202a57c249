// SPDX-License-Identifier: Apache-2.0
// The variables that NCCL reads, as they are.
#pragma once

#include <string>
#include <vector>

namespace switchyard::harness {

/// NAME=VALUE of every NCCL_* variable of this process that names no host, sorted.
std::vector<std::string> nccl_environment();
/// NCCL_GRAPH_MIXING_SUPPORT of this process; NCCL's default is 1.
int graph_mixing_of_process();

}  // namespace switchyard::harness
