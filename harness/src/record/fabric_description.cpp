// SPDX-License-Identifier: Apache-2.0
// Words for where the ranks of a run are.
#include <algorithm>

#include "switchyard/harness/record_json.hpp"

namespace switchyard::harness {

std::string_view to_string(fabric_kind kind) noexcept { return kind == fabric_kind::host ? "host" : "cuda"; }

std::string_view times_note(fabric_kind kind) noexcept {
  return kind == fabric_kind::host
             ? "host fabric, not NVLink"
             : "cuda fabric by the CPU's clock, with copies and checks between phases: no benchmark";
}

std::string description_text(const fabric_description& fabric) {
  std::string text(to_string(fabric.kind));
  for (auto first = fabric.gpus.begin(); first != fabric.gpus.end();) {
    const auto next = std::find_if(first, fabric.gpus.end(), [&](const auto& name) { return name != *first; });
    text += ", " + std::to_string(next - first) + " x " + *first;
    first = next;
  }
  return fabric.driver.empty() ? text : text + ", driver " + fabric.driver;
}

}  // namespace switchyard::harness
