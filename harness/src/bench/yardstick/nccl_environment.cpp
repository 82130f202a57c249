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
    const std::string_view text(*variable);
    // These hold names of hosts, which no record does.
    const bool names_host = text.starts_with("NCCL_COMM_ID=") || text.starts_with("NCCL_HOSTID=");
    if (text.starts_with("NCCL_") && !names_host) result.emplace_back(text);
  }
  std::ranges::sort(result);
  return result;
}

int graph_mixing_of_process() {
  const char* value = std::getenv("NCCL_GRAPH_MIXING_SUPPORT");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return value != nullptr && std::string_view(value) == "0" ? 0 : 1;
}

}  // namespace switchyard::harness
