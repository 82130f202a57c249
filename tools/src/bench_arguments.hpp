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
  std::string profile = "deepseek_v3";
  std::vector<std::string> tokens{"1", "4", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192"};
  std::string ranks = "2";
  std::string launches = "30";
  std::string steps = "40";
  std::string seed = "1";
  std::string routing = "uniform";
  std::string lamport = "auto";
  std::string lamport_max_tokens = "64";
  std::string host_jitter = "0";
  std::string repeat = "1";
  std::vector<std::string> rates;
  std::string out;
  std::string nccl;  ///< file of the library
  bool without_nccl = false;
  bool yardsticks_only = false;
};

/// Adds them to the command line.
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
