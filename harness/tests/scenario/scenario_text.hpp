// SPDX-License-Identifier: Apache-2.0
// Scenario files for tests, put together from the part that a test is about.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "switchyard/harness/model_profile.hpp"
#include "switchyard/harness/scenario_file.hpp"
#include "switchyard/harness/sweep.hpp"

namespace switchyard::harness {

/// A suite file named t.json around scenario objects.
inline std::string suite_text(const std::string& scenarios) {
  return R"({"suite": "t", "description": "d", "scenarios": [)" + scenarios + "]}";
}

/// A scenario object that is right as it is, plus `more` members (each with a leading comma).
inline std::string scenario_text(const std::string& more) {
  return R"({"name": "s", "sentence": "x", "ranks": 4, "tokens": 8, "num_experts": 10, "top_k": 4, "hidden_size": 64)" +
         more + "}";
}

/// The same without the shape.
inline std::string shapeless_text(const std::string& more) {
  return R"({"name": "s", "sentence": "x", "ranks": 4, "tokens": 8)" + more + "}";
}

inline model_profiles one_profile() {
  model_profiles profiles;
  profiles["tiny"] = {32, 2, 6, dtype::bf16, dispatch_format::mxfp8};
  return profiles;
}

inline std::vector<case_spec> cases_of_text(const std::string& scenarios) {
  return expand(parse_suite(suite_text(scenarios), "t.json"), one_profile());
}

inline std::vector<std::string> ids_of(const std::vector<case_spec>& cases) {
  std::vector<std::string> ids;
  for (const auto& spec : cases) ids.push_back(spec.id);
  return ids;
}

/// The message of the input_error that `call` throws; a test failure and "" when it throws none.
template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const input_error& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

}  // namespace switchyard::harness
