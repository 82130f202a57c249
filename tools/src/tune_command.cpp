// SPDX-License-Identifier: Apache-2.0
// switchyard tune: measures fence against lamport on the GPUs at hand, and says what to set.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench_arguments.hpp"
#include "bench_output.hpp"
#include "commands.hpp"
#include "numbers.hpp"
#include "switchyard/harness/lamport_tuning.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"

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

class tune_output final : public harness::bench_observer {
 public:
  tune_output(const harness::bench_options& options, bool json) : options_(options), json_(json) {}

  void note(const std::string& line) override { std::cerr << line << std::endl; }
  void machine(const harness::bench_machine& where) override {
    for (const auto& gpu : where.gpus) note(gpu.description);
    print(harness::bench_header_json(harness::read_environment(), where, options_,
                                     harness::utc_text(std::chrono::system_clock::now())));
  }
  void link(const harness::link_yardstick& measured) override { print(harness::to_json(measured)); }
  void point(const harness::bench_point& measured) override {
    points_.push_back(measured);
    for (const auto& one : compared()) {
      if (one.tokens == measured.tokens) note("  " + harness::comparison_text(one));
    }
  }
  /// Between the last point that goes by lamport and the next, twice, each time between nearer ones.
  std::vector<std::int64_t> further_tokens() override {
    constexpr int rounds = 2;
    constexpr int points_a_round = 3;
    if (rounds_done_++ == rounds) return {};
    const auto points = compared();
    return harness::tokens_around(points, harness::decide_threshold(points), points_a_round);
  }

  harness::exit_code conclude() const {
    const auto points = compared();
    const auto threshold = harness::decide_threshold(points);
    print(harness::to_json(points, threshold));
    if (!json_) {
      std::cout << harness::comparison_table(points) << '\n' << harness::tuning_text(points, threshold);
    }
    const bool decided = threshold.measured && threshold.too_slow_at.empty();
    return decided ? harness::exit_code::all_passed : harness::exit_code::inconclusive;
  }

 private:
  [[nodiscard]] std::vector<harness::transport_comparison> compared() const {
    return harness::compare_transports(harness::trips_of(points_));
  }
  void print(const nlohmann::ordered_json& record) const {
    if (json_) std::cout << harness::record_line(record) << std::endl;
  }

  const harness::bench_options& options_;
  bool json_;
  int rounds_done_ = 0;
  std::vector<harness::bench_point> points_;
};

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
  tune_output output(options, arguments.json);
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
