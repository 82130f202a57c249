// SPDX-License-Identifier: Apache-2.0
// Texts that break a rule, and the refusal that each must meet.
#pragma once

#include <string>
#include <vector>

#include "scenario_text.hpp"

namespace switchyard::harness {

struct bad_input {
  std::string text;
  std::string message;  // all of it, or its beginning where the parser's own words follow
};

inline void expect_refusals(const std::vector<bad_input>& inputs) {
  for (const auto& input : inputs) {
    const auto message = refusal([&] { expand(parse_suite(input.text, "t.json"), one_profile()); });
    EXPECT_EQ(message.substr(0, input.message.size()), input.message) << input.text << "\n  full message: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

}  // namespace switchyard::harness
