// SPDX-License-Identifier: Apache-2.0
// switchyard run --random: its options.
#include "random_options.hpp"

#include <CLI/CLI.hpp>

#include "numbers.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

std::int64_t parse_limit(const std::string& option, const std::string& text, std::uint64_t most) {
  const auto number = parse_count(option, text);
  if (number < 1 || number > most) {
    throw harness::input_error(option + ": " + text + ": must be an integer from 1 to " + std::to_string(most));
  }
  return static_cast<std::int64_t>(number);
}

}  // namespace

void add_random_options(CLI::App& command, random_texts& into) {
  auto* random = command.add_option("--random", into.count,
                                    "Run N cases that are drawn from --seed, in place of those of suites. The first\n"
                                    "failures are made small and written beside the records as scenario files");
  random->type_name("N");
  for (const auto* other : {"suite", "--case", "--filter", "--tag", "--ranks"}) random->excludes(other);
  const auto add_limit = [&](const char* name, std::string& text, const char* what, const char* type) {
    command.add_option(name, text, what)->type_name(type)->needs(random);
  };
  add_limit("--max-ranks", into.max_ranks, "With --random: most ranks of a case", "N");
  add_limit("--max-tokens", into.max_tokens, "With --random: most tokens of a rank", "N");
  add_limit("--max-hidden", into.max_hidden, "With --random: longest rows", "N");
  add_limit("--max-steps", into.max_steps, "With --random: most steps", "N");
  add_limit("--max-case-bytes", into.max_case_bytes, "With --random: most memory of a case, as --arena-bytes", "BYTES");
}

std::optional<random_choice> read_random_options(const CLI::App& command, const random_texts& texts) {
  if (command.count("--random") == 0) return std::nullopt;
  constexpr std::uint64_t most_cases = 1'000'000;
  constexpr std::uint64_t many = std::uint64_t{1} << 20;  // what the fields of a scenario may be
  random_choice choice;
  choice.count = static_cast<std::uint64_t>(parse_limit("--random", texts.count, most_cases));
  auto& limits = choice.limits;
  if (command.count("--max-ranks") > 0) limits.max_ranks = parse_rank_count("--max-ranks", texts.max_ranks);
  if (command.count("--max-tokens") > 0) limits.max_tokens = parse_limit("--max-tokens", texts.max_tokens, many);
  if (command.count("--max-hidden") > 0) limits.max_hidden = parse_limit("--max-hidden", texts.max_hidden, many);
  if (command.count("--max-steps") > 0) limits.max_steps = parse_limit("--max-steps", texts.max_steps, many);
  if (command.count("--max-case-bytes") > 0) {
    limits.max_bytes = parse_bytes("--max-case-bytes", texts.max_case_bytes);
  }
  return choice;
}

}  // namespace switchyard::tools
