// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

std::optional<bench_transport> bench_transport_of(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(all_bench_transports, name, [](auto which) { return to_string(which); });
  if (found == all_bench_transports.end()) return std::nullopt;
  return *found;
}

}  // namespace switchyard::harness
