// SPDX-License-Identifier: Apache-2.0
// The words of a case's enumerations, as scenario files and records write them.
#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

std::string_view to_string(routing_law law) noexcept {
  switch (law) {
    case routing_law::uniform: return "uniform";
    case routing_law::balanced: return "balanced";
  }
  return "unknown";
}

std::string_view to_string(step_variation variation) noexcept {
  switch (variation) {
    case step_variation::fixed: return "fixed";
    case step_variation::vary: return "vary";
  }
  return "unknown";
}

}  // namespace switchyard::harness
