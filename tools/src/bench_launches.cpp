// SPDX-License-Identifier: Apache-2.0
#include "bench_launches.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "common_options.hpp"
#include "numbers.hpp"
#include "switchyard/harness/gate/compare.hpp"
#include "switchyard/harness/gate/launches.hpp"
#include "switchyard/harness/gate/verdict_record.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/record_writer.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace gate = harness::gate;
namespace {

using noises = std::vector<std::pair<std::string, gate::aa_noise>>;

/// The command line of one launch.
std::vector<std::string> command_of(const std::string& program, const bench_arguments& bench) {
  auto command = bench_command_again(bench, {"--without-nccl", "--out", "/dev/stdout"});
  if (!program.empty()) command.front() = program;
  return command;
}

/// Writes what there is so far: an interruption loses no more than the launch that it ends.
void save(const gate::launched_side& side, const noises& noise, const std::string& path) {
  if (path.empty() || side.bench_header.empty()) return;
  const auto started = harness::utc_text(std::chrono::system_clock::now());
  harness::write_file_atomically(path, gate::samples_text(side, noise, started));
}

/// As it would be read from the file.
gate::sample_set set_of(const gate::launched_side& side, const std::string& name) {
  const auto header = nlohmann::json::parse(side.bench_header);
  gate::sample_set set;
  set.source = name;
  set.bed = gate::testbed_of_bench(header);
  set.build = gate::build_text(header.at("env"));
  set.launches = side.launches;
  std::map<std::string, gate::sample_series> series;
  for (const auto& one : side.samples) {
    auto& of = series[one.scenario];
    of.id = one.scenario;
    of.time_us.push_back(one.time_us);
    of.launches.push_back(one.launch);
    of.marked += one.marked > 0 ? 1U : 0U;
  }
  for (auto& [id, of] : series) set.series.push_back(std::move(of));
  for (const auto& [launch, why] : side.failed) set.failures.push_back("launch " + std::to_string(launch) + ' ' + why);
  return set;
}

std::string noise_table(const noises& noise) {
  constexpr double whole = 100;
  std::string table =
      "| scenario | median us | shift A B B A us | of 99 in 100 splits us | bound us | noise us | noise % |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [id, one] : noise) {
    std::ostringstream row;
    row.precision(3);
    row << std::fixed << "| " << id << " | " << one.median_us << " | " << one.shift_us << " | " << one.splits_us
        << " | " << one.interval_us << " | " << one.noise_us << " | " << whole * one.noise_us / one.median_us << " |\n";
    table += row.str();
  }
  return table;
}

harness::exit_code end_of(const gate::launched_side& side) {
  if (!side.samples.empty()) {
    return side.failed.empty() ? harness::exit_code::all_passed : harness::exit_code::failed;
  }
  std::cerr << "switchyard: bench: no launch ended well" << std::endl;
  return all_lacked_something(side) ? harness::exit_code::environment : harness::exit_code::failed;
}

/// The points that have an inconclusive scenario, as --tokens takes them; empty: none.
std::vector<std::string> undecided_tokens(const gate::gate_result& result) {
  std::set<std::string> tokens;
  for (const auto& one : result.scenarios) {
    constexpr std::string_view key = ",tokens=";
    const auto at = one.id.find(key);
    if (one.verdict != gate::gate_verdict::inconclusive || at == std::string::npos) continue;
    const auto begin = at + key.size();
    tokens.insert(one.id.substr(begin, one.id.find(',', begin) - begin));
  }
  return {tokens.begin(), tokens.end()};
}

void tell_line(const std::string& line) { std::cerr << line << std::endl; }

harness::exit_code compare_builds(const launch_arguments& launch, const bench_arguments& bench,
                                  const harness::bench_options& options) {
  constexpr std::int64_t most_reruns = 10;
  const auto reruns = parse_count_within("--reruns", launch.reruns, 0, most_reruns);
  const auto patience = bench_patience(options);
  std::vector<gate::launched_side> sides(2);
  auto points = bench;
  const gate::gate_rules rules;
  for (std::int64_t round = 0;; ++round) {
    const auto save_both = [&] {
      save(sides[0], {}, launch.against_out);
      save(sides[1], {}, bench.out);
    };
    gate::run_launches({{command_of(launch.against, points), command_of(launch.program, points)},
                        read_launches(launch),
                        patience,
                        save_both},
                       sides, tell_line);
    for (const auto& side : sides) {
      if (side.samples.empty()) return end_of(side);
    }
    auto base = set_of(sides[0], launch.against);
    if (!launch.noise.empty()) gate::add_noise(base, launch.noise);
    const auto current = set_of(sides[1], launch.program.empty() ? "this build" : launch.program);
    const auto result = gate::compare_sets(base, current, rules);
    points.tokens = undecided_tokens(result);
    const bool again =
        round < reruns && !points.tokens.empty() && result.keys_differ.empty() && result.failures.empty();
    if (!again) {
      std::cout << gate::verdict_table(result, gate::table_rows::all)
                << gate::verdict_summary(result, rules, base, current);
      return gate::exit_code_of(result);
    }
    tell_line("inconclusive: " + std::to_string(result.count(gate::gate_verdict::inconclusive)) +
              " scenarios; as many launches more of their points");
  }
}

}  // namespace

void add_launch_options(CLI::App& command, launch_arguments& into) {
  command
      .add_option("--launches", into.launches,
                  "Measure in N fresh processes and write a sample of each; with --against or --aa N of each side")
      ->type_name("N");
  command.add_option("--program", into.program, "Launch this build of the program (default: this one)")
      ->type_name("BINARY");
  command.add_option("--against", into.against, "Launch this build in turns (A B B A) and compare with it")
      ->type_name("BINARY");
  command.add_option("--against-out", into.against_out, "Write the samples of the other build to this file")
      ->type_name("FILE");
  command.add_option("--noise", into.noise, "Samples of bench --aa, whose noise is a floor of --against")
      ->type_name("FILE");
  command.add_flag("--aa", into.aa, "Twice --launches of one build: its noise, which gate and compare use as a floor");
  command.add_option("--reruns", into.reruns, "Launch what is inconclusive up to so many times more")
      ->type_name("N")
      ->capture_default_str();
}

void require_launch_options(const CLI::App& command, const launch_arguments& launch, const bench_arguments& bench) {
  for (const auto& [name, text] :
       {std::pair{"--program", &launch.program}, std::pair{"--against", &launch.against},
        std::pair{"--against-out", &launch.against_out}, std::pair{"--noise", &launch.noise}}) {
    require_text(command, name, *text);
  }
  const bool launches = read_launches(launch) > 0;
  const auto given = [&](const char* name) { return command.count(name) > 0; };
  for (const auto* name : {"--program", "--against", "--aa"}) {
    if (given(name) && !launches) throw harness::input_error(std::string(name) + ": needs --launches");
  }
  if (given("--against") && launch.aa) throw harness::input_error("--aa: launches one build; not with --against");
  for (const auto* name : {"--against-out", "--reruns", "--noise"}) {
    if (given(name) && !given("--against")) throw harness::input_error(std::string(name) + ": needs --against");
  }
  for (const auto* name : {"--repeat", "--yardsticks-only", "--nccl", "--variants"}) {
    if (given(name) && launches) throw harness::input_error(std::string(name) + ": not with --launches");
  }
  if (launches && !given("--against") && bench.out.empty()) {
    throw harness::input_error("--launches: needs --out, where the samples go");
  }
}

int read_launches(const launch_arguments& arguments) {
  constexpr std::int64_t most_launches = 1000;
  return static_cast<int>(parse_count_within("--launches", arguments.launches, 0, most_launches));
}

harness::exit_code bench_by_launches(const launch_arguments& launch, const bench_arguments& bench,
                                     const harness::bench_options& options) {
  if (!launch.against.empty()) return compare_builds(launch, bench, options);
  std::vector<gate::launched_side> sides(1);
  const int launches = read_launches(launch) * (launch.aa ? 2 : 1);
  const auto save_it = [&] { save(sides[0], {}, bench.out); };
  gate::run_launches({{command_of(launch.program, bench)}, launches, bench_patience(options), save_it}, sides,
                     tell_line);
  const auto noise = launch.aa ? gate::noise_of(sides[0]) : noises();
  save(sides[0], noise, bench.out);
  if (launch.aa) std::cout << noise_table(noise);
  return end_of(sides[0]);
}

}  // namespace switchyard::tools
