// SPDX-License-Identifier: Apache-2.0
// switchyard bench: times dispatch and combine on GPUs, beside what their link can do.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "commands.hpp"
#include "common_options.hpp"
#include "numbers.hpp"
#include "switchyard/harness/bench_nccl.hpp"
#include "switchyard/harness/bench_record.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/scenario_error.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::tools {
namespace {

struct bench_arguments {
  common_options common;
  std::string profile = "deepseek_v3";
  std::vector<std::string> tokens{"1", "4", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192"};
  std::string ranks = "2";
  std::string launches = "30";
  std::string steps = "40";
  std::string seed = "1";
  std::string routing = "uniform";
  std::string host_jitter = "0";
  std::vector<std::string> rates;
  std::string out;
  std::string nccl;  ///< file of the library
  bool without_nccl = false;
  bool yardsticks_only = false;
};

std::int64_t count_within(const std::string& option, const std::string& text, std::int64_t least, std::int64_t most) {
  const auto value = parse_count(option, text);
  if (value < static_cast<std::uint64_t>(least) || value > static_cast<std::uint64_t>(most)) {
    throw harness::input_error(option + ": " + text + ": must be " + std::to_string(least) + " to " +
                               std::to_string(most));
  }
  return static_cast<std::int64_t>(value);
}

harness::routing_law routing_of(const std::string& word) {
  // The laws that need nothing else said.
  for (const auto law : {harness::routing_law::uniform, harness::routing_law::balanced, harness::routing_law::local,
                         harness::routing_law::remote}) {
    if (to_string(law) == word) return law;
  }
  throw harness::input_error("--routing: " + word + ": must be one of uniform, balanced, local, remote");
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

harness::bench_options read_options(const bench_arguments& arguments) {
  constexpr std::int64_t most_tokens = 65536;  // some 4 GB of buffers per rank at hidden 7168
  constexpr std::int64_t most_launches = 10000;
  constexpr std::int64_t most_steps = 1000;  // so many nodes does a graph get, four times over
  constexpr std::int64_t most_jitter_us = 100'000;
  harness::bench_options options;
  std::set<std::int64_t> tokens;
  for (const auto& one : arguments.tokens) tokens.insert(count_within("--tokens", one, 1, most_tokens));
  options.tokens.assign(tokens.begin(), tokens.end());
  options.ranks = static_cast<int>(count_within("--ranks", arguments.ranks, 2, harness::most_bench_ranks));
  options.launches = static_cast<int>(count_within("--launches", arguments.launches, 1, most_launches));
  options.steps = static_cast<int>(count_within("--steps", arguments.steps, 1, most_steps));
  options.seed = parse_count("--seed", arguments.seed);
  options.routing = routing_of(arguments.routing);
  options.host_jitter_us = static_cast<int>(count_within("--host-jitter-us", arguments.host_jitter, 0, most_jitter_us));
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
  options.params.num_experts = profile.num_experts;
  options.params.top_k = profile.top_k;
  options.params.hidden_size = profile.hidden_size;
  options.params.dtype = profile.dtype;
  options.params.dispatch_format = profile.dispatch_format;
  options.params.max_tokens_per_rank = options.tokens.back();
  return options;
}

/// Lines go out as they come, so that what was measured before a failure is kept.
class bench_output final : public harness::bench_observer, public harness::nccl_observer {
 public:
  bench_output(const harness::bench_options& options, const harness::extra_rates& rates, const std::string& path)
      : options_(options), rates_(rates), path_(path) {
    if (path.empty()) return;
    file_.open(path, std::ios::out | std::ios::trunc);
    check_file();
  }

  void note(const std::string& line) override { std::cerr << line << std::endl; }
  void machine(const harness::bench_machine& where) override {
    for (const auto& gpu : where.gpus) note(gpu.description);
    if (!where.nvml_why_not.empty()) note("states of the GPUs are not read: " + where.nvml_why_not);
    write(harness::bench_header_json(harness::read_environment(), where, options_,
                                     harness::utc_text(std::chrono::system_clock::now())));
  }
  void link(const harness::link_yardstick& measured) override {
    link_ = measured;
    write(harness::to_json(measured));
    std::cout << "link: " << harness::record_line(harness::to_json(measured)) << std::endl;
  }
  void point(const harness::bench_point& measured) override {
    points_.push_back(measured);
    write(harness::to_json(measured, link_, rates_));
    const auto figures = harness::figures_of(measured, link_);
    note("  " + std::to_string(figures.round_trip_us) + " us a round trip, " +
         std::to_string(figures.round_trip_of_floor) + " of the floor");
  }
  void library(const harness::nccl_library& used) override {
    library_ = used;
    write(harness::to_json(used));
    note(used.version.empty() ? "no NCCL yardsticks: " + used.why_not : "NCCL " + used.version);
  }
  void measured(const harness::nccl_measurement& one) override {
    nccl_.push_back(one);
    write(harness::to_json(one));
  }
  /// Which yardstick was the fastest, and all of it as a table.
  void conclude() {
    for (const auto& point : points_) write(harness::nccl_best_json(nccl_, point.tokens));
    std::cout << harness::bench_table(points_, link_, rates_);
    std::cout << '\n' << harness::nccl_table(points_, link_, library_, nccl_);
  }

 private:
  void check_file() const {
    if (!file_) throw harness::input_error("--out: " + path_ + ": must be a file that can be written");
  }
  void write(const nlohmann::ordered_json& record) {
    if (path_.empty()) return;
    file_ << harness::record_line(record) << std::endl;
    check_file();
  }

  const harness::bench_options& options_;
  harness::extra_rates rates_;
  std::string path_;
  std::ofstream file_;
  harness::link_yardstick link_;
  std::vector<harness::bench_point> points_;
  harness::nccl_library library_{{}, "not asked for", {}};
  std::vector<harness::nccl_measurement> nccl_;
};

/// The yardsticks alone, for a process that reads them: JSON lines on standard output.
class yardstick_output final : public harness::nccl_observer {
 public:
  void note(const std::string& line) override { std::cerr << line << std::endl; }
  void library(const harness::nccl_library& used) override { write(harness::to_json(used)); }
  void measured(const harness::nccl_measurement& one) override { write(harness::to_json(one)); }

 private:
  static void write(const nlohmann::ordered_json& record) { std::cout << harness::record_line(record) << std::endl; }
};

/// This program again, for the yardsticks of the same points.
std::vector<std::string> yardstick_command(const bench_arguments& arguments, const harness::bench_options& options) {
  std::string tokens;
  for (const auto one : options.tokens) tokens += (tokens.empty() ? "" : ",") + std::to_string(one);
  std::vector<std::string> command{
      "/proc/self/exe",   "bench",   "--yardsticks-only", "--profile",     arguments.profile,
      "--tokens",         tokens,    "--ranks",           arguments.ranks, "--launches",
      arguments.launches, "--steps", arguments.steps,     "--seed",        arguments.seed};
  if (!arguments.nccl.empty()) command.insert(command.end(), {"--nccl", arguments.nccl});
  if (const auto folder = arguments.common.scenarios.string(); !folder.empty()) {
    command.insert(command.end(), {"--scenarios", folder});
  }
  return command;
}

harness::exit_code bench(const bench_arguments& arguments) {
  const auto options = read_options(arguments);
  (void)read_rates(arguments);  // before anything is measured
  if (const auto usable = harness::bench_support(options.ranks); !usable.available) {
    std::cerr << "switchyard: bench: " << usable.reason << std::endl;
    return harness::exit_code::environment;
  }
  if (arguments.yardsticks_only) {
    yardstick_output output;
    harness::run_nccl_yardsticks(options, arguments.nccl, output);
    return harness::exit_code::all_passed;
  }
  bench_output output(options, read_rates(arguments), arguments.out);
  try {
    harness::run_bench(options, output);
    // After the library has given everything back: the yardsticks run in processes of their own on the same GPUs.
    constexpr std::chrono::seconds patience{60};
    if (!arguments.without_nccl) {
      harness::collect_nccl_yardsticks(yardstick_command(arguments, options), patience, output);
    }
  } catch (const harness::wrong_result& wrong) {
    std::cerr << "switchyard: bench: wrong result, no time is told: " << wrong.what() << std::endl;
    return harness::exit_code::failed;
  } catch (const peer_fault& fault) {
    std::cerr << "switchyard: " << fault.what() << std::endl;
    return harness::exit_code::failed;
  } catch (const cuda_error& failure) {
    std::cerr << "switchyard: " << failure.what() << std::endl;
    return harness::exit_code::failed;
  }
  output.conclude();
  return harness::exit_code::all_passed;
}

}  // namespace

command add_bench_command(CLI::App& app) {
  auto* added = app.add_subcommand("bench", "Time dispatch and combine on GPUs");
  const auto arguments = std::make_shared<bench_arguments>();
  added->add_option("--profile", arguments->profile, "Model profile")->type_name("NAME")->capture_default_str();
  added->add_option("--tokens", arguments->tokens, "Tokens per rank, one point each")
      ->type_name("N,...")
      ->delimiter(',');
  added->add_option("--ranks", arguments->ranks, "Ranks, one GPU each")->type_name("N")->capture_default_str();
  added->add_option("--launches", arguments->launches, "Launches of the graph")->type_name("N")->capture_default_str();
  added->add_option("--steps", arguments->steps, "Steps in the graph")->type_name("N")->capture_default_str();
  added->add_option("--seed", arguments->seed, "Seed of the inputs")->type_name("N")->capture_default_str();
  added->add_option("--routing", arguments->routing, "Which experts tokens go to: uniform, balanced, local, remote")
      ->type_name("LAW")
      ->capture_default_str();
  added->add_option("--rates", arguments->rates, "More rates: logical, selection; both count bytes that cross no link")
      ->type_name("NAME,...")
      ->delimiter(',');
  added->add_option("--host-jitter-us", arguments->host_jitter, "Make the last rank's host late by up to so much")
      ->type_name("N")
      ->capture_default_str();
  added->add_option("--out", arguments->out, "Write JSON lines with all samples to this file")->type_name("FILE");
  added->add_option("--nccl", arguments->nccl, "NCCL's library (default: libnccl.so.2 as the loader finds it)")
      ->type_name("FILE");
  added->add_flag("--without-nccl", arguments->without_nccl, "Measure no NCCL yardsticks");
  added->add_flag("--yardsticks-only", arguments->yardsticks_only,
                  "Measure only the NCCL yardsticks, in this process, and print JSON lines");
  add_scenarios_option(*added, arguments->common);
  return {added, [added, arguments] {
            require_text(*added, "--out", arguments->out);
            require_text(*added, "--nccl", arguments->nccl);
            require_text(*added, "--scenarios", arguments->common.scenarios.string());
            return bench(*arguments);
          }};
}

}  // namespace switchyard::tools
