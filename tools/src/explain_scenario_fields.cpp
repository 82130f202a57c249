// SPDX-License-Identifier: Apache-2.0
// The fields of scenarios, as explain shows them.
#include <list>

#include "explanations.hpp"
#include "switchyard/harness/field_meanings.hpp"
#include "switchyard/harness/scenario_fields.hpp"

namespace switchyard::tools {

std::vector<explanation> scenario_field_explanations() {
  static std::list<std::string> kept;  // explanations are views
  std::vector<explanation> all;
  for (const auto& one : harness::field_meanings()) {
    const auto* rule = harness::find_field(one.field);
    const auto& meaning = kept.emplace_back(std::string(one.meaning) + "; " +
                                            (rule == nullptr ? std::string("unknown") : harness::describe(*rule)) +
                                            "; default: " + std::string(one.otherwise));
    all.push_back({"scenario field", one.field, meaning, "",
                   "scenarios/README.md for the other fields; a suite that uses it: grep in scenarios/"});
  }
  return all;
}

}  // namespace switchyard::tools
