// SPDX-License-Identifier: Apache-2.0
#include "rank_launch.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "chosen_machine.hpp"
#include "interrupt.hpp"
#include "mpi_job.hpp"
#include "switchyard/harness/cpu_binding.hpp"
#include "switchyard/harness/job.hpp"
#include "switchyard/harness/launch_environment.hpp"
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

/// As many as the largest case has that the GPUs of this host can hold; larger ones are skipped.
int num_processes(const run_command_options& options, const std::vector<harness::case_spec>& cases) {
  int limit = max_ep_size;
  if (options.fabric == fabric_kind::cuda) {
    limit = harness::most_ranks_on_gpu * std::max(1, options.gpus.value_or(harness::count_gpus()));
  }
  int most = 1;
  for (const auto& spec : cases) {
    if (spec.ep_size <= limit) most = std::max(most, spec.ep_size);
  }
  return most;
}

/// Each rank a process, which this one supervises.
class rank_processes final : public launched_ranks {
 public:
  rank_processes(const run_command_options& options, const std::vector<harness::case_spec>& cases,
                 const nlohmann::json& identity, harness::joined_job job)
      : mode_(options.launch),
        num_hosts_(job.num_hosts),
        supervisor_({.seed = options.seed,
                     .cases = cases,
                     .identity = identity,
                     .on_gpus = options.fabric == fabric_kind::cuda,
                     .ranks_per_host = job.one_host ? 0 : job.ranks_per_host,
                     .start_limit = options.start_limit,
                     .case_limit = options.case_limit,
                     .stop_requested = interrupted},
                    std::move(job.links), job.rendezvous_host, job.rendezvous_port) {
    const auto begin = std::chrono::steady_clock::now();
    supervisor_.start();
    start_time_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    const auto seen = supervisor_.as_seen();
    for (const auto& each : seen) seen_.push_back(nlohmann::ordered_json(each));
    fabric_.kind = options.fabric;
    if (options.fabric == fabric_kind::cuda && !seen.empty()) {
      seen.at(0).at("gpus").get_to(fabric_.gpus);
      seen.at(0).at("driver").get_to(fabric_.driver);
    }
  }

  [[nodiscard]] harness::fabric_description fabric() const override { return fabric_; }
  [[nodiscard]] nlohmann::ordered_json description() const override {
    return {{"mode", to_string(mode_)}, {"hosts", num_hosts_}, {"start_ms", start_time_.count()}, {"ranks", seen_}};
  }
  harness::case_result run(const harness::case_spec& spec) override { return supervisor_.run(spec); }

 private:
  launch_kind mode_;
  int num_hosts_;
  std::chrono::milliseconds start_time_{0};
  harness::supervisor supervisor_;
  nlohmann::ordered_json seen_ = nlohmann::ordered_json::array();
  harness::fabric_description fabric_;
};

/// Of a job that MPI tells of, which must live as long as the job.
class mpi_rank_processes final : public launched_ranks {
 public:
  mpi_rank_processes(std::unique_ptr<mpi_job> job, std::unique_ptr<launched_ranks> ranks)
      : job_(std::move(job)), ranks_(std::move(ranks)) {}
  [[nodiscard]] harness::fabric_description fabric() const override { return ranks_->fabric(); }
  [[nodiscard]] nlohmann::ordered_json description() const override { return ranks_->description(); }
  harness::case_result run(const harness::case_spec& spec) override { return ranks_->run(spec); }

 private:
  std::unique_ptr<mpi_job> job_;
  std::unique_ptr<launched_ranks> ranks_;
};

/// The launcher interrupts all processes of a job, and an agent is still needed until rank 0 has ended the case.
bool interrupted_long_ago() {
  using clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds grace{10};
  static std::optional<clock::time_point> since;  // of the one thread that asks
  if (!interrupted()) return false;
  if (!since) since = clock::now();
  return clock::now() - *since > grace;
}

harness::launched_process process_of_variables() {
  auto found = harness::find_launched_process();
  if (!found) {
    throw harness::environment_error(std::string("--launch env: no launcher is seen: ") + harness::launch_variables);
  }
  if (found->host.empty()) {
    throw harness::environment_error("--launch env: " + found->launcher +
                                     " does not tell where rank 0 is: set MASTER_ADDR and MASTER_PORT");
  }
  return *found;
}

}  // namespace

std::string_view to_string(launch_kind kind) noexcept {
  switch (kind) {
    case launch_kind::threads: return "threads";
    case launch_kind::fork: return "fork";
    case launch_kind::mpi: return "mpi";
    case launch_kind::env: return "env";
  }
  return "";
}

launch_kind launch_of_this_process() {
  const auto found = harness::find_launched_process();
  if (!found || found->size == 1) return launch_kind::threads;
  const bool by_mpi = found->launcher == "open-mpi" || found->launcher == "pmi";
  return by_mpi && mpi_is_built() ? launch_kind::mpi : launch_kind::env;
}

std::unique_ptr<launched_ranks> launch_ranks(const run_command_options& options,
                                             const std::vector<harness::case_spec>& cases,
                                             const harness::environment& where) {
  if (options.launch == launch_kind::threads) return std::make_unique<rank_threads>(options, cases, where);
  const auto identity = harness::group_identity_json(where, options.seed, cases);
  if (options.launch == launch_kind::fork) {
    harness::joined_job job;
    job.links = harness::make_local_ranks(num_processes(options, cases));
    return std::make_unique<rank_processes>(options, cases, identity, std::move(job));
  }
  harness::job_process process;
  process.identity = identity;
  process.limit = options.start_limit;
  process.stop_requested = interrupted_long_ago;
  if (options.launch == launch_kind::env) {
    process.place = process_of_variables();
    if (process.place.rank != 0) {
      serve_as_agent(process);
      return nullptr;
    }
    return std::make_unique<rank_processes>(options, cases, identity, gather_job(process));
  }
  auto mpi = join_mpi_job(options.start_limit);
  process.place = mpi->place();
  if (process.place.rank != 0) {
    serve_as_agent(process);
    return nullptr;
  }
  auto ranks = std::make_unique<rank_processes>(options, cases, identity, gather_job(process, mpi->take_listener()));
  return std::make_unique<mpi_rank_processes>(std::move(mpi), std::move(ranks));
}

harness::exit_code serve(const harness::rank_process_place& place, const run_command_options& options,
                         const std::vector<harness::case_spec>& cases) {
  const auto where = harness::read_environment();
  auto seen = harness::rank_environment_json(where);
  seen["local_rank"] = place.local_rank;
  const bool on_gpu = options.fabric == fabric_kind::cuda;
  const auto gpu =
      on_gpu ? harness::pci_address_of_gpu(place.local_rank, options.gpus.value_or(0)) : std::optional<std::string>();
  if (gpu) seen["gpu_address"] = *gpu;
  if (options.binds_cpus) {  // before CUDA, or anything else, starts threads
    const auto binding = harness::find_cpu_binding(place.local_rank, place.local_size, gpu);
    binding.apply();
    seen["cpus"] = binding.cpu_list;
    seen["numa_node"] = binding.numa_node ? nlohmann::ordered_json(*binding.numa_node) : nlohmann::ordered_json();
    if (!binding.kept_because.empty()) seen["cpus_kept_because"] = binding.kept_because;
  }
  // Each has its part of what there is.
  const auto limit = arena_limit(options, where) / static_cast<std::size_t>(place.local_size);
  const auto needed = [on_gpu](const harness::case_spec& spec) {
    return harness::required_bytes_of_process(spec, on_gpu);
  };
  const auto bytes = harness::arena_bytes_for(cases, limit, needed);
  harness::arena memory(std::max(bytes, harness::page_bytes()));
  const auto machine = open_machine(options, cases, {.ranks_per_host = place.local_size, .only_rank = place.rank});
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
