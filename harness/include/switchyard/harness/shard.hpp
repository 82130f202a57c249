// SPDX-License-Identifier: Apache-2.0
// A part of a run: the chosen cases are dealt to N shards in turn, so that together they hold every case once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "switchyard/harness/case_spec.hpp"

namespace switchyard::harness {

struct shard {
  std::size_t index = 1;  ///< 1 .. count
  std::size_t count = 1;

  friend bool operator==(const shard&, const shard&) = default;
};

/// The cases of one shard, in order. Empty only when index exceeds the number of cases.
inline std::vector<case_spec> deal(std::vector<case_spec> cases, const shard& part) {
  std::vector<case_spec> dealt;
  for (std::size_t i = part.index - 1; i < cases.size(); i += part.count) dealt.push_back(std::move(cases[i]));
  return dealt;
}

}  // namespace switchyard::harness
