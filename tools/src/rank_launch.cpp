// SPDX-License-Identifier: Apache-2.0
#include "rank_launch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "chosen_machine.hpp"
#include "interrupt.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/supervisor.hpp"

namespace switchyard::tools {
namespace {

/// All ranks of a case as threads of this process, on memory that all cases use in turn.
class rank_threads final : public launched_ranks {
 public:
  rank_threads(const run_command_options& options, const std::vector<harness::case_spec>& cases,
               const harness::environment& where)
      : memory_(arena_bytes(options, cases, where)), where_(open_machine(options, cases)) {
    how_.seed = options.seed;
    how_.stop_requested = interrupted;
    how_.machine = where_.machine;
  }

  [[nodiscard]] harness::fabric_description fabric() const override { return where_.fabric; }
  [[nodiscard]] nlohmann::ordered_json description() const override { return {}; }
  harness::case_result run(const harness::case_spec& spec) override { return harness::run_case(spec, memory_, how_); }

 private:
  static std::size_t arena_bytes(const run_command_options& options, const std::vector<harness::case_spec>& cases,
                                 const harness::environment& where) {
    auto bytes = harness::arena_bytes_for(cases, arena_limit(options, where), harness::required_bytes);
    if (options.random) bytes = std::max(bytes, options.random->limits.max_bytes);  // room for what shrinking tries
    return std::max(bytes, harness::page_bytes());  // an empty shard needs none, which cannot be had
  }

  harness::arena memory_;
  chosen_machine where_;
  harness::run_options how_;
};

int most_ranks(const std::vector<harness::case_spec>& cases) {
  int most = 0;
  for (const auto& spec : cases) most = std::max(most, spec.ep_size);
  return most;
}

/// Each rank a process, started by this one.
class rank_processes final : public launched_ranks {
 public:
  rank_processes(const run_command_options& options, const std::vector<harness::case_spec>& cases,
                 const harness::environment& where)
      : supervisor_(supervision(options, cases, where), harness::make_local_ranks(most_ranks(cases))) {
    supervisor_.start();
    seen_ = supervisor_.as_seen();
    fabric_.kind = options.fabric;
    if (options.fabric == fabric_kind::cuda && !seen_.empty()) {
      seen_.at(0).at("gpus").get_to(fabric_.gpus);
      seen_.at(0).at("driver").get_to(fabric_.driver);
    }
  }

  [[nodiscard]] harness::fabric_description fabric() const override { return fabric_; }
  [[nodiscard]] nlohmann::ordered_json description() const override { return {{"mode", "fork"}, {"ranks", seen_}}; }
  harness::case_result run(const harness::case_spec& spec) override { return supervisor_.run(spec); }

 private:
  static harness::supervisor_options supervision(const run_command_options& options,
                                                 const std::vector<harness::case_spec>& cases,
                                                 const harness::environment& where) {
    return {.seed = options.seed,
            .cases = cases,
            .identity = harness::group_identity_json(where, options.seed, cases),
            .on_gpus = options.fabric == fabric_kind::cuda,
            .start_limit = options.start_limit,
            .case_limit = options.case_limit,
            .stop_requested = interrupted};
  }

  harness::supervisor supervisor_;
  nlohmann::ordered_json seen_;
  harness::fabric_description fabric_;
};

}  // namespace

std::unique_ptr<launched_ranks> launch_ranks(const run_command_options& options,
                                             const std::vector<harness::case_spec>& cases,
                                             const harness::environment& where) {
  if (options.launch == launch_kind::threads) return std::make_unique<rank_threads>(options, cases, where);
  return std::make_unique<rank_processes>(options, cases, where);
}

harness::exit_code serve(const harness::rank_process_place& place, const run_command_options& options,
                         const std::vector<harness::case_spec>& cases) {
  const auto where = harness::read_environment();
  const auto ranks = static_cast<std::size_t>(most_ranks(cases));
  // Each has its part of what there is.
  const auto limit = arena_limit(options, where) / std::max<std::size_t>(ranks, 1);
  const auto bytes = harness::arena_bytes_for(cases, limit, harness::required_bytes_of_process);
  harness::arena memory(std::max(bytes, harness::page_bytes()));
  const auto machine = open_machine(options, cases, {.only_rank = place.rank});
  auto seen = harness::rank_environment_json(where);
  if (machine.machine != nullptr) {
    seen["gpus"] = machine.fabric.gpus;
    seen["driver"] = machine.fabric.driver;
  }
  serve_as_rank(place, {.seed = options.seed,
                        .cases = cases,
                        .memory = memory,
                        .machine = machine.machine,
                        .identity = harness::group_identity_json(where, options.seed, cases),
                        .as_seen = seen});
  return harness::exit_code::all_passed;
}

}  // namespace switchyard::tools
