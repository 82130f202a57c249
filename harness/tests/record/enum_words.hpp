// SPDX-License-Identifier: Apache-2.0
// The words of an enumeration, for tests that hold a schema to them.
#pragma once

#include <set>
#include <string>

namespace switchyard::harness {

/// From its own to_string(), which says "unknown" to what it does not have: a new enumerator is here by itself.
template <class Enum>
std::set<std::string> words() {
  std::set<std::string> all;
  for (unsigned value = 0; value < 256; ++value) {
    const auto word = to_string(static_cast<Enum>(value));
    if (word == "unknown") break;
    all.emplace(word);
  }
  return all;
}

}  // namespace switchyard::harness
