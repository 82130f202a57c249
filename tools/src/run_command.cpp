// SPDX-License-Identifier: Apache-2.0
// switchyard run: its options.
#include <CLI/CLI.hpp>
#include <memory>
#include <tuple>

#include "numbers.hpp"
#include "rank_launch.hpp"
#include "run_options.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::tools {
namespace {

/// Options as they are written; read_options() makes numbers of them.
struct run_texts {
  std::string seed = "1";
  std::string arena_bytes;
  std::string part;
  std::string fabric = "host";
  std::string gpus;
  std::string launch;
  std::string bind = "numa";
  std::string start_limit = "120";
  std::string case_limit = "600";
  bool quiet = false;
  bool json = false;
  bool dry = false;
  bool cases = false;
  bool fail_fast = false;
  random_texts random;
};

void add_choice(CLI::App& command, run_command_options& into, run_texts& texts) {
  add_common_options(command, into.common);
  command.add_option("--case", into.common.selection.case_id, "Run exactly this case")->type_name("ID");
  add_random_options(command, texts.random);
  command.add_option("--seed", texts.seed, "Seed of everything random")->type_name("S")->capture_default_str();
  command
      .add_option("--shard", texts.part,
                  "Run part I of N: the cases are dealt in turn, so that the parts hold every case once.\n"
                  "A part that gets none, because N exceeds the number of cases, says so and exits with 0")
      ->type_name("I/N");
}

void add_records(CLI::App& command, run_command_options& into) {
  command.add_option("--out", into.out, "Folder for records; made when needed")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--resume", into.resume,
                  "Go on with these records: same cases, seed, shard, build and machine. Recorded cases are\n"
                  "not run again but count; new lines are appended")
      ->type_name("RECORDS.jsonl")
      ->excludes("--out");
  command
      .add_option("--must-pass", into.must_pass,
                  "A list of cases, by name or path: each entry must match a chosen case, and what it matches must\n"
                  "pass, not be skipped or waived. May be given several times")
      ->type_name("LIST")
      ->allow_extra_args(false);
  command.add_option("--junit", into.junit, "Write the results as JUnit XML as well")->type_name("FILE");
}

void add_behaviour(CLI::App& command, run_texts& texts) {
  command
      .add_option("--fabric", texts.fabric,
                  "Where ranks run: host, as threads of the CPU, or cuda, dealt in turn over GPUs. The bytes are the\n"
                  "same; what a GPU cannot hold is skipped with the reason")
      ->type_name("host|cuda")
      ->capture_default_str();
  command.add_option("--gpus", texts.gpus, "With --fabric cuda: use the first N GPUs; default all")->type_name("N");
  command
      .add_option(
          "--launch", texts.launch,
          "What a rank is: threads, of this process; fork, a process each, which this one starts, watches, and\n"
          "starts anew after a crash or a hang; mpi or env, the same in a job of processes that mpirun, srun or\n"
          "torchrun has started, one a rank: harness/docs/launching.md. Default: threads, or what the launcher is\n"
          "that has started several of this program")
      ->type_name("threads|fork|mpi|env");
  command
      .add_option("--bind", texts.bind,
                  "CPUs of ranks that are processes: numa, those of the NUMA node of their GPU or their share of the\n"
                  "nodes, or none, those that the process has")
      ->type_name("numa|none")
      ->capture_default_str();
  command.add_option("--start-timeout", texts.start_limit, "Until ranks that are processes must have come")
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      .add_option("--case-timeout", texts.case_limit,
                  "The most that a case of processes may take, even one that gets on")
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      .add_option("--arena-bytes", texts.arena_bytes,
                  "Most memory that a case may use: bytes, or 8G for 8 * 1024^3; default three quarters of the machine")
      ->type_name("BYTES");
  command.add_flag("--fail-fast", texts.fail_fast, "End at the first case that fails; the rest counts as missing");
  command.add_flag("--quiet", texts.quiet, "Print failures and one last line");
  command
      .add_flag("--json", texts.json,
                "Print JSON lines and nothing else: header, cases as they end, summary; errors too")
      ->excludes("--quiet");
  command
      .add_flag("--dry-run", texts.dry,
                "Run nothing: print how many cases there are, what they move and what memory they need")
      ->excludes("--resume")
      ->excludes("--junit");
  command.add_flag("--cases", texts.cases, "With --dry-run: case by case")->needs("--dry-run");
}

void read_fabric(const CLI::App& command, const run_texts& texts, run_command_options& into) {
  if (texts.fabric != "host" && texts.fabric != "cuda") {
    throw harness::input_error("--fabric: " + texts.fabric + ": must be host or cuda");
  }
  if (texts.fabric == "cuda") into.fabric = fabric_kind::cuda;
  if (command.count("--gpus") == 0) return;
  if (into.fabric == fabric_kind::host) throw harness::input_error("--gpus: is for --fabric cuda");
  into.gpus = static_cast<int>(parse_rank_count("--gpus", texts.gpus));
}

launch_kind read_launch_kind(const std::string& text) {
  for (const auto kind : {launch_kind::threads, launch_kind::fork, launch_kind::mpi, launch_kind::env}) {
    if (text == to_string(kind)) return kind;
  }
  throw harness::input_error("--launch: " + text + ": must be threads, fork, mpi or env");
}

void read_launch(const CLI::App& command, const run_texts& texts, run_command_options& into) {
  // Without the option a launcher decides; a dry run runs nothing that could be launched.
  if (command.count("--launch") > 0) {
    into.launch = read_launch_kind(texts.launch);
  } else if (!texts.dry) {
    into.launch = launch_of_this_process();
  }
  if (texts.bind != "numa" && texts.bind != "none") {
    throw harness::input_error("--bind: " + texts.bind + ": must be numa or none");
  }
  into.binds_cpus = texts.bind == "numa";
  constexpr std::int64_t most_seconds = 86400;
  for (const auto& [option, text, limit] : {std::tuple("--start-timeout", &texts.start_limit, &into.start_limit),
                                            std::tuple("--case-timeout", &texts.case_limit, &into.case_limit)}) {
    if (command.count(option) > 0) *limit = std::chrono::seconds(parse_count_within(option, *text, 1, most_seconds));
  }
  if (into.launch == launch_kind::threads) {
    for (const auto* option : {"--bind", "--start-timeout", "--case-timeout"}) {
      if (command.count(option) == 0) continue;
      throw harness::input_error(std::string(option) + ": is for ranks that are processes, see --launch");
    }
  } else if (into.random) {  // what makes a failure small runs cases that the processes do not have
    throw harness::input_error("--random: is for --launch threads");
  }
}

void read_options(const CLI::App& command, const run_texts& texts, run_command_options& into) {
  read_common_options(command, into.common);
  into.seed = parse_count("--seed", texts.seed);
  into.random = read_random_options(command, texts.random);
  require_text(command, "--case", into.common.selection.case_id.value_or(""));
  require_text(command, "--out", into.out.string());
  require_text(command, "--resume", into.resume.string());
  require_text(command, "--junit", into.junit.string());
  if (command.count("--shard") > 0) into.part = parse_shard("--shard", texts.part);
  read_fabric(command, texts, into);
  read_launch(command, texts, into);
  if (command.count("--arena-bytes") > 0) into.arena_bytes = parse_bytes("--arena-bytes", texts.arena_bytes);
  if (texts.quiet) into.shown = shown_output::quiet;
  if (texts.json) into.shown = shown_output::json;
  if (texts.fail_fast) into.on_failure = harness::after_failure::stop;
  if (texts.dry) into.dry_run = texts.cases ? dry_run_detail::cases : dry_run_detail::scenarios;
}

}  // namespace

chosen_cases choose_cases(const run_command_options& options) {
  auto cases = options.random ? harness::draw_cases(options.seed, options.random->count, options.random->limits)
                              : harness::select_cases(open_catalog(options.common), options.common.selection);
  chosen_cases chosen;
  for (const auto& spec : cases) chosen.all.push_back(spec.id);
  const auto folder = options.common.scenarios.empty() ? default_scenarios_folder() : options.common.scenarios;
  for (const auto& list : options.must_pass) chosen.must_pass.push_back(harness::load_must_pass(folder, list));
  chosen.cases = harness::deal(std::move(cases), options.part.value_or(harness::shard{}));
  return chosen;
}

std::size_t arena_limit(const run_command_options& options, const harness::environment& where) {
  if (options.arena_bytes != 0) return options.arena_bytes;
  constexpr std::uint64_t quarters = 3;  // of 4; the rest is for the system and everything outside the arena
  return static_cast<std::size_t>(where.memory_bytes / 4 * quarters);
}

std::string empty_shard_text(const harness::shard& part, std::size_t all_cases) {
  const auto all = std::to_string(all_cases);
  return "shard " + std::to_string(part.index) + '/' + std::to_string(part.count) + " is empty: the first " + all +
         " of the shards hold the " + all + (all_cases == 1 ? " case" : " cases") + " one each; nothing to run";
}

command add_run_command(CLI::App& app, const invocation& call) {
  auto* added = app.add_subcommand("run", "Run cases and write records");
  const auto options = std::make_shared<run_command_options>();
  const auto texts = std::make_shared<run_texts>();
  options->call = call;
  add_choice(*added, *options, *texts);
  add_records(*added, *options);
  add_behaviour(*added, *texts);
  return {added, [added, options, texts] {
            read_options(*added, *texts, *options);
            const auto chosen = choose_cases(*options);
            if (const auto place = harness::take_rank_process_place()) return serve(*place, *options, chosen.cases);
            return options->dry_run == dry_run_detail::none ? run_chosen(*options, chosen) : dry_run(*options, chosen);
          }};
}

}  // namespace switchyard::tools
