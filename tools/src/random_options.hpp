// SPDX-License-Identifier: Apache-2.0
// switchyard run --random: drawn cases in place of those of suites.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "switchyard/harness/random_cases.hpp"

namespace CLI {
class App;
}

namespace switchyard::tools {

struct random_choice {
  std::uint64_t count = 0;
  harness::random_limits limits;
};

/// The options as they are written.
struct random_texts {
  std::string count;
  std::string max_ranks;
  std::string max_tokens;
  std::string max_hidden;
  std::string max_steps;
  std::string max_case_bytes;
};

/// `into` must live until the command line is parsed.
void add_random_options(CLI::App& command, random_texts& into);

/// Nothing when --random was not given. Throws input_error.
std::optional<random_choice> read_random_options(const CLI::App& command, const random_texts& texts);

}  // namespace switchyard::tools
