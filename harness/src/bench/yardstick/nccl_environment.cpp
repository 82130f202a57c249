// SPDX-License-Identifier: Apache-2.0
#include "nccl_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace switchyard::harness {

std::vector<std::string> nccl_environment() {
  std::vector<std::string> result;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::string_view(*variable).starts_with("NCCL_")) result.emplace_back(*variable);
  }
  std::ranges::sort(result);
  return result;
}

int graph_mixing_of_process() {
  const char* value = std::getenv("NCCL_GRAPH_MIXING_SUPPORT");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value != nullptr && std::string_view(value) == "0" ? 0 : 1;
}

}  // namespace switchyard::harness
