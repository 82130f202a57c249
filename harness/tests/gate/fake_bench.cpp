// SPDX-License-Identifier: Apache-2.0
// Prints the lines of a bench whose times are made up, for tests of what launches benches. Options of its own come
// first; of a bench's it reads --tokens.
//
// usage: fake_bench [--state FILE] [--slower PART] [--noise PART] [--crash-at N] [--hang-at N] [--fail-at N]
//                   [--ignore-rest] [bench ...]
//
// Times differ from launch to launch by a fixed pattern; FILE counts the launches.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../bench/sample_bench.hpp"
#include "switchyard/harness/record_json.hpp"

namespace {

namespace harness = switchyard::harness;

int next_launch(const std::string& state) {
  int launch = 0;
  std::ifstream(state) >> launch;
  std::ofstream(state) << launch + 1;
  return launch;
}

/// Between -1 and 1, none like another for many launches.
double pattern(int launch, std::int64_t tokens) {
  const auto place = (static_cast<std::int64_t>(launch) * 37 + tokens * 11) % 101;
  return static_cast<double>(place) / 50 - 1;
}

harness::bench_point point_of(std::int64_t tokens, double factor) {
  auto point = harness::sample_point(400'000);
  point.tokens = tokens;
  const double us = 20 + static_cast<double>(tokens);
  for (auto* times : {&point.round_trip_us, &point.cold_us, &point.eager_us}) {
    *times = {{us * factor, us * factor, us * factor}, {us * factor, us * factor, us * factor}};
  }
  point.dispatch.spans.kernel_us = point.combine.spans.kernel_us = {us * factor / 2};
  return point;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--tokens", "1,16"}, {"--slower", "0"}, {"--noise", "0.003"}};
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--ignore-rest") == 0) break;
    if (std::strncmp(argv[i], "--", 2) == 0 && std::strncmp(argv[i + 1], "--", 2) != 0) options[argv[i]] = argv[i + 1];
  }
  const auto is = [&](const char* option, int launch) {
    return options.contains(option) && options[option] == std::to_string(launch);
  };
  const int launch = options.contains("--state") ? next_launch(options["--state"]) : 0;
  auto bench = harness::sample_options();
  bench.transports = {harness::bench_transport::automatic};
  bench.tokens.clear();
  std::istringstream list(options["--tokens"]);
  for (std::string one; std::getline(list, one, ',');) bench.tokens.push_back(std::stoll(one));
  auto where = harness::read_environment();
  where.git_dirty = false;
  std::cout << harness::record_line(
                   harness::bench_header_json(where, harness::sample_machine(), bench, "2026-01-01T00:00:00Z"))
            << '\n'
            << harness::record_line(harness::to_json(harness::sample_link())) << std::endl;
  if (is("--hang-at", launch)) ::pause();
  if (is("--crash-at", launch)) std::abort();
  for (const auto tokens : bench.tokens) {
    const double factor =
        (1 + std::stod(options["--slower"])) * (1 + std::stod(options["--noise"]) * pattern(launch, tokens));
    std::cout << harness::record_line(harness::to_json(point_of(tokens, factor), harness::sample_link(), {})) << '\n';
  }
  std::cout << "| a table |\n";
  return is("--fail-at", launch) ? 2 : 0;
}
