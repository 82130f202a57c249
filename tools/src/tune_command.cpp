// SPDX-License-Identifier: Apache-2.0
// switchyard tune: measures fence against lamport on the GPUs at hand, and says what to set.
#include <CLI/CLI.hpp>
#include <memory>

#include "bench_arguments.hpp"
#include "bench_output.hpp"
#include "commands.hpp"
#include "numbers.hpp"
#include "switchyard/harness/machine.hpp"
#include "tune_output.hpp"

namespace switchyard::tools {
namespace {

struct tune_arguments {
  bench_arguments steps;
  std::string max_tokens = "1024";
  bool json = false;
};

/// Powers of two, and the largest count itself.
std::vector<std::string> first_tokens(std::int64_t most) {
  std::vector<std::string> result;
  for (std::int64_t tokens = 1; tokens < most; tokens *= 2) result.push_back(std::to_string(tokens));
  result.push_back(std::to_string(most));
  return result;
}

harness::exit_code tune(tune_arguments& arguments) {
  constexpr std::int64_t least_max_tokens = 2;
  arguments.steps.tokens =
      first_tokens(parse_count_within("--max-tokens", arguments.max_tokens, least_max_tokens, most_tokens));
  arguments.steps.transports = {"fence", "lamport"};
  auto options = read_bench_options(arguments.steps);
  options.columns = harness::bench_columns::round_trip;
  if (const auto usable = harness::bench_support(options.ranks); !usable.available) {
    throw harness::environment_error("tune: " + usable.reason);
  }
  tune_output output(options, arguments.json ? tune_form::json : tune_form::text);
  if (!measure_or_tell("tune", [&] { harness::run_bench(options, output); })) return harness::exit_code::failed;
  return output.conclude();
}

}  // namespace

command add_tune_command(CLI::App& app) {
  auto* added = app.add_subcommand("tune", "Measure on GPUs up to how many tokens a step should go by lamport");
  const auto arguments = std::make_shared<tune_arguments>();
  add_step_options(*added, arguments->steps);
  added->add_option("--max-tokens", arguments->max_tokens, "The most tokens per rank that are tried")
      ->type_name("N")
      ->capture_default_str();
  added->add_flag("--json", arguments->json, "Print JSON lines: the header and link of a bench, then what to set");
  added->footer(
      "Round trips by fence and by lamport, launches in turn, at powers of two and then between the two points where "
      "the\n"
      "faster one changes; each point is compared with the golden model. What to set is the threshold that is nowhere\n"
      "slower than the better transport by more than max(5 %, 0.3 us, noise), and of those the one that loses the "
      "least.\n"
      "Exit codes: 0 decided; 2 a result was wrong; 3 no CUDA or too few GPUs; 4 no threshold is right at every "
      "point,\n"
      "or nothing could be compared; 5 usage.");
  return {added, [added, arguments] {
            require_text(*added, "--scenarios", arguments->steps.common.scenarios.string());
            return tune(*arguments);
          }};
}

}  // namespace switchyard::tools
