// SPDX-License-Identifier: Apache-2.0
// switchyard bench: times dispatch and combine on GPUs, beside what their link and NCCL can do.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench_arguments.hpp"
#include "bench_launches.hpp"
#include "bench_output.hpp"
#include "commands.hpp"
#include "switchyard/harness/bench_repeat.hpp"

namespace switchyard::tools {
namespace {

/// Each process writes its lines to standard output, where tables and all else are passed by.
harness::exit_code repeat_bench(const bench_arguments& arguments, const harness::bench_options& options, int repeats) {
  const auto command = bench_command_again(arguments, {"--without-nccl", "--out", "/dev/stdout"});
  line_file file(arguments.out);
  const auto note = [](const std::string& line) { std::cerr << line << std::endl; };
  const auto points = harness::collect_repeats(command, repeats, bench_patience(options), note);
  for (const auto& point : points) file.write(harness::to_json(point));
  std::cout << harness::repeat_table(points);
  conclude_transports(options, points, file);
  const bool complete = !points.empty() && std::ranges::all_of(points, [&](const auto& point) {
    return point.round_trip_us.size() == static_cast<std::size_t>(repeats);
  });
  return complete ? harness::exit_code::all_passed : harness::exit_code::failed;
}

harness::exit_code bench(const bench_arguments& arguments, const launch_arguments& launch) {
  const auto rates = read_rates(arguments);
  const int repeats = read_repeats(arguments);
  if (repeats > 1 && !arguments.variants.empty()) throw harness::input_error("--variants: not with --repeat");
  const auto options = read_bench_options(arguments);
  // Another program says by itself what it lacks.
  if (!launch.program.empty()) return bench_by_launches(launch, arguments, options);
  if (const auto usable = harness::bench_support(options.ranks); !usable.available) {
    std::cerr << "switchyard: bench: " << usable.reason << std::endl;
    return harness::exit_code::environment;
  }
  if (read_launches(launch) > 0) return bench_by_launches(launch, arguments, options);
  if (arguments.yardsticks_only) {
    yardstick_output output;
    harness::run_nccl_yardsticks(options, arguments.nccl, output);
    return harness::exit_code::all_passed;
  }
  if (repeats > 1) return repeat_bench(arguments, options, repeats);
  bench_output output(options, rates, arguments.out);
  if (!measure_or_tell("bench", [&] { harness::run_bench(options, output); })) return harness::exit_code::failed;
  // After the library has given everything back: the yardsticks run in processes of their own on the same GPUs.
  if (!arguments.without_nccl) {
    std::vector<std::string> more{"--yardsticks-only"};
    if (!arguments.nccl.empty()) more.insert(more.end(), {"--nccl", arguments.nccl});
    harness::collect_nccl_yardsticks(bench_command_again(arguments, more), bench_patience(options), output);
  }
  output.conclude();
  return harness::exit_code::all_passed;
}

}  // namespace

command add_bench_command(CLI::App& app, const invocation& call) {
  auto* added = app.add_subcommand("bench", "Time dispatch and combine on GPUs");
  const auto arguments = std::make_shared<bench_arguments>();
  const auto launch = std::make_shared<launch_arguments>();
  add_bench_options(*added, *arguments);
  add_launch_options(*added, *launch);
  arguments->as_called = call.arguments;
  return {added, [added, arguments, launch] {
            require_text(*added, "--out", arguments->out);
            require_text(*added, "--nccl", arguments->nccl);
            require_text(*added, "--scenarios", arguments->common.scenarios.string());
            require_launch_options(*added, *launch, *arguments);
            return bench(*arguments, *launch);
          }};
}

}  // namespace switchyard::tools
