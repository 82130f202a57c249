// SPDX-License-Identifier: Apache-2.0
// What `switchyard run` was asked to do, and the cases that it is about.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "common_options.hpp"
#include "random_options.hpp"
#include "switchyard/harness/environment.hpp"
#include "switchyard/harness/must_pass.hpp"
#include "switchyard/harness/shard.hpp"
#include "switchyard/harness/suite_runner.hpp"
#include "switchyard/stream.hpp"

namespace switchyard::tools {

enum class shown_output : std::uint8_t {
  progress,
  quiet,  ///< failures and one last line
  json,   ///< JSON lines and nothing else
};

/// Where ranks live.
enum class launch_kind : std::uint8_t {
  threads,  ///< of this process
  fork,     ///< processes that this one starts
  mpi,      ///< processes of an MPI job
  env,      ///< processes of a job whose launcher tells of it by variables
};

/// The word used in options and records.
std::string_view to_string(launch_kind kind) noexcept;

enum class dry_run_detail : std::uint8_t { none, scenarios, cases };

struct run_command_options {
  common_options common;
  std::optional<random_choice> random;  ///< drawn cases in place of those of common.selection
  std::uint64_t seed = 1;
  std::optional<harness::shard> part;     ///< none: all cases
  std::filesystem::path out = "records";  ///< folder for the records of a new run
  std::filesystem::path resume;           ///< records to go on with; empty: a new run
  std::filesystem::path junit;            ///< empty: none
  std::vector<std::string> must_pass;     ///< lists of cases that must pass: names or paths
  fabric_kind fabric = fabric_kind::host;
  launch_kind launch = launch_kind::threads;
  bool binds_cpus = true;                 ///< of ranks that are processes, by NUMA node
  std::chrono::seconds start_limit{120};  ///< until ranks that are processes have come
  std::chrono::seconds case_limit{600};   ///< of a case of processes
  std::optional<int> gpus;                ///< of the CUDA fabric; none: all that there are
  std::size_t arena_bytes = 0;            ///< 0: three quarters of the machine's memory
  harness::after_failure on_failure = harness::after_failure::go_on;
  shown_output shown = shown_output::progress;
  dry_run_detail dry_run = dry_run_detail::none;  ///< other than none: nothing is run
  invocation call;
};

struct chosen_cases {
  std::vector<std::string> all;  ///< ids of the selection
  std::vector<harness::must_pass_list> must_pass;
  std::vector<harness::case_spec> cases;  ///< of this shard; empty only when the shard is past the end of the selection
};

/// The cases that the options name. Whatever else decides which cases run (drawn ones, required ones) belongs here, so
/// that dry runs, shards and resumed runs see it. Throws input_error.
chosen_cases choose_cases(const run_command_options& options);

/// Most bytes that the arena may have.
std::size_t arena_limit(const run_command_options& options, const harness::environment& where);

/// Prints what running `chosen` would take. bad_input when a case would be refused.
harness::exit_code dry_run(const run_command_options& options, const chosen_cases& chosen);

/// Runs `chosen`, or what of it is not recorded yet.
harness::exit_code run_chosen(const run_command_options& options, const chosen_cases& chosen);

/// "shard 5/9 is empty: ...".
std::string empty_shard_text(const harness::shard& part, std::size_t all_cases);

}  // namespace switchyard::tools
