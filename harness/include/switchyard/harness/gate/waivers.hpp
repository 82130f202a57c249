// SPDX-License-Identifier: Apache-2.0
// Lists of what may be wrong for a while, who answers for it, and until when.
//
//   {"schema": 1, "entries": [{"scenario": PATTERN, "verdict": WORD, "owner": TEXT, "reason": TEXT, "link": TEXT,
//                              "expires": "YYYY-MM-DD", "testbed": PATTERN}]}
//
// Patterns are those of a shell; `testbed` is matched with the key and may be left out: any. A list of waivers covers
// regressed, inconclusive and missing. That a result is wrong is no matter of waiving: only a list of known issues,
// which must be asked for by its own name, covers failed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "switchyard/harness/gate/testbed.hpp"
#include "switchyard/harness/gate/verdict.hpp"

namespace switchyard::harness::gate {

inline constexpr int waivers_schema = 1;

struct waiver {
  std::string scenario;
  gate_verdict verdict = gate_verdict::regressed;
  std::string owner;
  std::string reason;
  std::string link;
  std::string expires;  ///< the last day on which it holds, UTC
  std::string testbed = "*";
};

enum class waiver_list : std::uint8_t { waivers, known_issues };

/// Throws input_error for a list that breaks a rule.
std::vector<waiver> read_waivers(const std::filesystem::path& file, waiver_list kind);

/// Marks what the list covers. One that has expired covers nothing and is a failure of the gate, whether it is still
/// needed or not; one that covers nothing on this testbed is told. `today` is YYYY-MM-DD. Returns what is to be told, a
/// line each.
std::vector<std::string> apply_waivers(gate_result& result, const std::vector<waiver>& list, const testbed& bed,
                                       const std::string& today);

}  // namespace switchyard::harness::gate
