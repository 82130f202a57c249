// SPDX-License-Identifier: Apache-2.0
// The options of bench: as they are given, and what they mean.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "common_options.hpp"
#include "switchyard/harness/bench_record.hpp"

namespace switchyard::tools {

struct bench_arguments {
  common_options common;
  std::vector<std::string> as_called;  ///< for the record
  std::string profile = "deepseek_v3";
  std::vector<std::string> tokens{"1", "4", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192"};
  // Lists whose every combination is a shape; empty: as the profile says.
  std::vector<std::string> hidden_sizes;
  std::vector<std::string> top_ks;
  std::vector<std::string> num_experts;
  std::vector<std::string> formats;
  std::vector<std::string> low_precision_combines;
  std::string ranks = "2";
  std::string graph_launches = "30";
  std::string steps = "40";
  std::string seed = "1";
  std::string routing = "uniform";
  std::string lamport = "auto";
  std::vector<std::string> transports;  ///< empty: the one that `lamport` says
  std::vector<std::string> variants;    ///< beside the usual
  std::string lamport_max_tokens = std::to_string(one_sided_config().lamport_max_tokens);
  std::string host_jitter = "0";
  std::string repeat = "1";
  std::vector<std::string> rates;
  std::string out;
  std::string nccl;  ///< file of the library
  bool without_nccl = false;
  bool yardsticks_only = false;
};

inline constexpr std::int64_t most_tokens = 65536;  ///< some 4 GB of buffers per rank and transport at hidden 7168

/// Adds to the command line what says of which steps and how often: profile, ranks, launches, steps, seed, routing.
void add_step_options(CLI::App& command, bench_arguments& into);
/// Adds all of them.
void add_bench_options(CLI::App& command, bench_arguments& into);

/// The rest throws input_error naming the option.
harness::bench_options read_bench_options(const bench_arguments& arguments);
harness::extra_rates read_rates(const bench_arguments& arguments);
int read_repeats(const bench_arguments& arguments);

/// This program again, for the same points, with `more` options.
std::vector<std::string> bench_command_again(const bench_arguments& arguments, const std::vector<std::string>& more);
/// How long such a process may be silent: a line comes when a point is done.
std::chrono::seconds bench_patience(const harness::bench_options& options);

}  // namespace switchyard::tools
