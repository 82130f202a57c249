// SPDX-License-Identifier: Apache-2.0
// A case as it stands in records, back in the form in which it was found.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

struct recorded_case {
  std::string id;
  std::uint64_t seed = 0;
  case_result result;
  std::chrono::nanoseconds elapsed{0};
  std::string line = {};  ///< as it stands in the file, without its newline
};

/// The inverse of case_json() for what is not part of the case's description. `where` stands in messages; throws
/// input_error for an object that is no case record.
recorded_case parse_case_record(const nlohmann::json& record, const input_place& where);

}  // namespace switchyard::harness
