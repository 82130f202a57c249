// SPDX-License-Identifier: Apache-2.0
// switchyard run --dry-run: what running the cases would take. Allocates nothing that depends on their size.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "run_options.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/record_json.hpp"
#include "switchyard/harness/summary.hpp"
#include "switchyard/harness/traffic_forecast.hpp"

namespace switchyard::tools {
namespace {

/// One case, or several together.
struct need {
  std::size_t cases = 0;
  std::uint64_t remote_bytes = 0;    ///< of dispatch
  std::uint64_t returned_bytes = 0;  ///< of combine
  bool exact = true;
  std::size_t arena_bytes = 0;  ///< of the largest
  std::string largest;          ///< its id
  std::size_t rank_bytes = 0;   ///< of device memory, of the largest in that; 0: the ranks run on the CPU

  void add(const need& more) {
    cases += more.cases;
    remote_bytes = std::min(remote_bytes + more.remote_bytes, harness::max_forecast_bytes);
    returned_bytes = std::min(returned_bytes + more.returned_bytes, harness::max_forecast_bytes);
    exact = exact && more.exact;
    rank_bytes = std::max(rank_bytes, more.rank_bytes);
    if (more.arena_bytes <= arena_bytes) return;
    arena_bytes = more.arena_bytes;
    largest = more.largest;
  }
};

struct scenario_need {
  std::string name;  ///< suite/scenario
  need all;
  std::vector<need> cases;
};

std::vector<scenario_need> needs_of(const run_command_options& options, const std::vector<harness::case_spec>& cases) {
  std::vector<scenario_need> scenarios;
  for (const auto& spec : cases) {
    const auto name = spec.suite + '/' + spec.name;
    auto found = std::find_if(scenarios.begin(), scenarios.end(), [&](const auto& one) { return one.name == name; });
    if (found == scenarios.end()) found = scenarios.insert(scenarios.end(), {name, {}, {}});
    const auto traffic = harness::forecast_traffic(spec, options.seed);
    const auto rank_bytes = options.fabric == fabric_kind::cuda ? harness::required_device_bytes(spec) : 0;
    found->cases.push_back({1, traffic.remote_bytes, traffic.returned_bytes, traffic.exact,
                            harness::required_bytes(spec), spec.id, rank_bytes});
    found->all.add(found->cases.back());
  }
  return scenarios;
}

/// "about 1.20 GB to other ranks and 1.10 GB back, arena of 34.0 MB".
std::string text_of(const need& one) {
  return (one.exact ? "" : "about ") + harness::bytes_text(one.remote_bytes) + " to other ranks and " +
         harness::bytes_text(one.returned_bytes) + " back, arena of " + harness::bytes_text(one.arena_bytes) +
         (one.rank_bytes == 0 ? "" : " and " + harness::bytes_text(one.rank_bytes) + " of a GPU for each rank");
}

std::string count_text(std::size_t cases) { return std::to_string(cases) + (cases == 1 ? " case, " : " cases, "); }

void add_numbers(nlohmann::ordered_json& out, const need& one) {
  out["remote_bytes"] = one.remote_bytes;
  out["returned_bytes"] = one.returned_bytes;
  out["exact"] = one.exact;
  out["arena_bytes"] = one.arena_bytes;
  if (one.rank_bytes != 0) out["device_bytes_per_rank"] = one.rank_bytes;
}

void print_json(const run_command_options& options, const std::vector<scenario_need>& scenarios, const need& total,
                std::size_t limit, harness::exit_code code) {
  nlohmann::ordered_json out;
  out["record"] = "dry_run";
  out["schema"] = harness::record_schema;
  out["seed"] = options.seed;
  out["cases"] = total.cases;
  add_numbers(out, total);
  out["limit_bytes"] = limit;
  out["exit_code"] = static_cast<int>(code);
  auto& lines = out["scenarios"] = nlohmann::ordered_json::array();
  auto& ids = out["plan"] = nlohmann::ordered_json::array();
  for (const auto& one : scenarios) {
    lines.push_back({{"scenario", one.name}, {"cases", one.all.cases}});
    add_numbers(lines.back(), one.all);
    if (options.dry_run != dry_run_detail::cases) continue;
    for (const auto& each : one.cases) {
      ids.push_back({{"id", each.largest}});
      add_numbers(ids.back(), each);
    }
  }
  std::cout << harness::record_line(out) << std::endl;
}

void print_text(const run_command_options& options, const std::vector<scenario_need>& scenarios, std::size_t limit) {
  if (options.shown == shown_output::quiet) return;
  for (const auto& one : scenarios) {
    std::cout << one.name << ": " << count_text(one.all.cases) << text_of(one.all) << '\n';
    if (options.dry_run != dry_run_detail::cases) continue;
    for (const auto& each : one.cases) {
      std::cout << "  " << each.largest << ": " << text_of(each)
                << (each.arena_bytes > limit ? ", above the limit\n" : "\n");
    }
  }
}

}  // namespace

harness::exit_code dry_run(const run_command_options& options, const chosen_cases& chosen) {
  const auto limit = arena_limit(options, harness::read_environment());
  const auto scenarios = needs_of(options, chosen.cases);
  need total;
  for (const auto& one : scenarios) total.add(one.all);
  const bool refused = total.arena_bytes > limit;
  const auto code = refused ? harness::exit_code::bad_input : harness::exit_code::all_passed;
  if (options.shown == shown_output::json) {
    print_json(options, scenarios, total, limit, code);
    return code;
  }
  print_text(options, scenarios, limit);
  std::cout << "nothing was run: " << count_text(total.cases) << text_of(total);
  if (total.cases > 1) std::cout << " for " << total.largest;
  std::cout << '\n';
  if (chosen.cases.empty() && options.part) std::cout << empty_shard_text(*options.part, chosen.all.size()) << '\n';
  if (refused) {
    std::cout << "would be refused: case " << total.largest << " needs " << total.arena_bytes
              << " bytes of memory; the limit is " << limit << " (--arena-bytes)\n";
  }
  std::cout << std::flush;
  return code;
}

}  // namespace switchyard::tools
