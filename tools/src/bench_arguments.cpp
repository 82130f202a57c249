// SPDX-License-Identifier: Apache-2.0
#include "bench_arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "bench_shapes.hpp"
#include "numbers.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

harness::routing_law routing_of(const std::string& word) {
  // The laws that need nothing else said.
  for (const auto law : {harness::routing_law::uniform, harness::routing_law::balanced, harness::routing_law::local,
                         harness::routing_law::remote}) {
    if (to_string(law) == word) return law;
  }
  throw harness::input_error("--routing: " + word + ": must be one of uniform, balanced, local, remote");
}

choice lamport_of(const std::string& word) {
  for (const auto use : harness::all_uses) {
    if (to_string(use) == word) return use;
  }
  throw harness::input_error("--lamport: " + word + ": must be one of off, auto, on");
}

std::vector<harness::bench_transport> transports_of(const bench_arguments& arguments) {
  if (arguments.transports.empty()) {
    return {lamport_of(arguments.lamport) == choice::off ? harness::bench_transport::fence
                                                         : harness::bench_transport::automatic};
  }
  std::vector<harness::bench_transport> result;
  for (const auto& word : arguments.transports) {
    const auto which = harness::bench_transport_of(word);
    if (!which) throw harness::input_error("--transports: " + word + ": must be one of fence, lamport, auto");
    if (std::ranges::count(result, *which) != 0)
      throw harness::input_error("--transports: " + word + ": is named twice");
    result.push_back(*which);
  }
  return result;
}

std::vector<harness::bench_variant> variants_of(const bench_arguments& arguments) {
  std::vector<harness::bench_variant> result;
  for (const auto& word : arguments.variants) {
    const auto which = harness::bench_variant_of(word);
    if (!which || which == harness::bench_variant::usual) {
      throw harness::input_error("--variants: " + word + ": must be one of unchecked, masked");
    }
    if (std::ranges::count(result, *which) != 0) throw harness::input_error("--variants: " + word + ": is named twice");
    result.push_back(*which);
  }
  return result;
}

}  // namespace

void add_step_options(CLI::App& command, bench_arguments& into) {
  command.add_option("--profile", into.profile, "Model profile")->type_name("NAME")->capture_default_str();
  command.add_option("--ranks", into.ranks, "Ranks, one GPU each")->type_name("N")->capture_default_str();
  command.add_option("--graph-launches", into.graph_launches, "Launches of the graph, within a process")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--steps", into.steps, "Steps in the graph")->type_name("N")->capture_default_str();
  command.add_option("--seed", into.seed, "Seed of the inputs")->type_name("N")->capture_default_str();
  command.add_option("--routing", into.routing, "Which experts tokens go to: uniform, balanced, local, remote")
      ->type_name("LAW")
      ->capture_default_str();
  add_scenarios_option(command, into.common);
}

void add_bench_options(CLI::App& command, bench_arguments& into) {
  add_step_options(command, into);
  command.add_option("--tokens", into.tokens, "Tokens per rank, one point each")->type_name("N,...")->delimiter(',');
  add_shape_options(command, into);
  command.add_option("--rates", into.rates, "More rates: logical, selection; both count bytes that cross no link")
      ->type_name("NAME,...")
      ->delimiter(',');
  auto* transports = command
                         .add_option("--transports", into.transports,
                                     "Measure each of these at every point, launches in turn: fence, lamport, auto")
                         ->type_name("NAME,...")
                         ->delimiter(',');
  command.add_option("--lamport", into.lamport, "Measure one transport: off (fence), auto, on (auto, required)")
      ->type_name("USE")
      ->capture_default_str()
      ->excludes(transports);
  command
      .add_option("--variants", into.variants,
                  "Compare the usual with each of these, launches in turn: unchecked (kernels that do not compare "
                  "headers), masked (enable_rank_mask, all ranks taking part)")
      ->type_name("NAME,...")
      ->delimiter(',');
  command
      .add_option("--lamport-max-tokens", into.lamport_max_tokens,
                  "The most tokens per rank that auto sends by lamport")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--host-jitter-us", into.host_jitter, "Make the last rank's host late by up to so much")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--out", into.out, "Write JSON lines with all samples to this file")->type_name("FILE");
  command.add_option("--nccl", into.nccl, "NCCL's library (default: libnccl.so.2 as the loader finds it)")
      ->type_name("FILE");
  command.add_flag("--without-nccl", into.without_nccl, "Measure no NCCL yardsticks");
  command.add_flag("--yardsticks-only", into.yardsticks_only,
                   "Measure only the NCCL yardsticks, in this process, and print JSON lines");
  command
      .add_option("--repeat", into.repeat, "Measure in so many processes, one after the other, and tell their noise")
      ->type_name("N")
      ->capture_default_str();
  command.footer(
      "Every point is compared with the golden model before and after it is timed. The headline is the median over\n"
      "launches of (time of a graph / its steps), of the slowest rank in each launch. Beside it stand cold and eager\n"
      "times, the phases, and the fastest NCCL variant whose result is right, measured by the same method.\n"
      "Lists of --hidden, --top-k, --experts, --format and --low-precision-combine make a grid: every combination is\n"
      "measured at every count of tokens. After the tables stand the points that are slower than NCCL, and dispatch "
      "of\n"
      "formats beside bf16.\n"
      "With --transports fence,lamport,auto the crossover is told, and where auto is not as good as the better of "
      "both.\n"
      "README.md tells more. Exit codes: 0 measured; 2 a result was wrong; 3 no CUDA or too few GPUs; 5 usage.");
}

harness::extra_rates read_rates(const bench_arguments& arguments) {
  harness::extra_rates rates;
  for (const auto& word : arguments.rates) {
    if (word != "logical" && word != "selection") {
      throw harness::input_error("--rates: " + word + ": must be one of logical, selection");
    }
    (word == "logical" ? rates.logical : rates.selection) = true;
  }
  return rates;
}

harness::bench_options read_bench_options(const bench_arguments& arguments) {
  constexpr std::int64_t most_launches = 10000;
  constexpr std::int64_t most_steps = 1000;  // so many nodes does a graph get, four times over
  constexpr std::int64_t most_jitter_us = 100'000;
  harness::bench_options options;
  std::set<std::int64_t> tokens;
  for (const auto& one : arguments.tokens) tokens.insert(parse_count_within("--tokens", one, 1, most_tokens));
  options.tokens.assign(tokens.begin(), tokens.end());
  options.ranks = static_cast<int>(parse_count_within("--ranks", arguments.ranks, 2, harness::most_bench_ranks));
  options.launches =
      static_cast<int>(parse_count_within("--graph-launches", arguments.graph_launches, 1, most_launches));
  options.steps = static_cast<int>(parse_count_within("--steps", arguments.steps, 1, most_steps));
  options.seed = parse_count("--seed", arguments.seed);
  options.routing = routing_of(arguments.routing);
  options.transports = transports_of(arguments);
  options.variants = variants_of(arguments);
  options.lamport = lamport_of(arguments.lamport);
  options.lamport_max_tokens = parse_count_within("--lamport-max-tokens", arguments.lamport_max_tokens, 1, most_tokens);
  options.host_jitter_us =
      static_cast<int>(parse_count_within("--host-jitter-us", arguments.host_jitter, 0, most_jitter_us));
  const auto catalog = open_catalog(arguments.common);
  const auto found = catalog.profiles().find(arguments.profile);
  if (found == catalog.profiles().end()) {
    std::string known;
    for (const auto& [name, profile] : catalog.profiles()) known += (known.empty() ? "" : ", ") + name;
    throw harness::input_error("--profile: " + arguments.profile + ": must be one of " + known);
  }
  const auto& profile = found->second;
  if (itemsize(profile.dtype) != 2) {
    throw harness::input_error("--profile: " + arguments.profile + ": expert outputs must have 16-bit elements");
  }
  options.profile = arguments.profile;
  options.arguments = arguments.as_called;
  options.params.num_experts = profile.num_experts;
  options.params.top_k = profile.top_k;
  options.params.hidden_size = profile.hidden_size;
  options.params.dtype = profile.dtype;
  options.params.dispatch_format = profile.dispatch_format;
  options.params.max_tokens_per_rank = options.tokens.back();
  read_shapes(arguments, options);
  if (!options.variants.empty() && options.shapes.size() > 1) {
    throw harness::input_error("--variants: are measured of one shape at a time, not of " +
                               std::to_string(options.shapes.size()));
  }
  return options;
}

int read_repeats(const bench_arguments& arguments) {
  constexpr std::int64_t most_repeats = 100;
  return static_cast<int>(parse_count_within("--repeat", arguments.repeat, 1, most_repeats));
}

std::vector<std::string> bench_command_again(const bench_arguments& arguments, const std::vector<std::string>& more) {
  std::vector<std::string> command{"/proc/self/exe",
                                   "bench",
                                   "--profile",
                                   arguments.profile,
                                   "--tokens",
                                   joined(arguments.tokens),
                                   "--ranks",
                                   arguments.ranks,
                                   "--steps",
                                   arguments.steps,
                                   "--seed",
                                   arguments.seed,
                                   "--routing",
                                   arguments.routing,
                                   "--host-jitter-us",
                                   arguments.host_jitter,
                                   "--lamport-max-tokens",
                                   arguments.lamport_max_tokens};
  // Only where it is asked for: builds before this one have it under another name.
  if (arguments.graph_launches != bench_arguments().graph_launches) {
    command.insert(command.end(), {"--graph-launches", arguments.graph_launches});
  }
  const auto shapes = shape_options_again(arguments);
  command.insert(command.end(), shapes.begin(), shapes.end());
  const bool several = !arguments.transports.empty();
  command.insert(command.end(),
                 {several ? "--transports" : "--lamport", several ? joined(arguments.transports) : arguments.lamport});
  if (const auto folder = arguments.common.scenarios.string(); !folder.empty()) {
    command.insert(command.end(), {"--scenarios", folder});
  }
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

std::chrono::seconds bench_patience(const harness::bench_options& options) {
  constexpr std::int64_t to_begin = 60;     // inputs, connections, code to be loaded
  constexpr std::int64_t ms_per_step = 20;  // ten columns of 2 ms: what 8192 tokens take is less
  const auto ways = static_cast<std::int64_t>(harness::ways_of(options).size());
  return std::chrono::seconds(to_begin + ways * options.launches * options.steps * ms_per_step / 1000);
}

}  // namespace switchyard::tools
