// SPDX-License-Identifier: Apache-2.0
// Asks the launchers in turn.
#include "switchyard/harness/launch_environment.hpp"

#include <algorithm>
#include <cstdlib>

#include "launch_variables.hpp"
#include "slurm_step.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t most_port = 65535;
constexpr rank_variables generic_names{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr rank_variables open_mpi_names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr rank_variables pmi_names{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

/// Of names of RFC 1123, IPv4 and IPv6, whose scopes are names of interfaces: what can be none of them.
bool is_host(std::string_view text) {
  constexpr std::size_t most = 255;
  return !text.empty() && text.size() <= most &&
         std::all_of(text.begin(), text.end(), [](char letter) { return letter > ' ' && letter <= '~'; });
}

/// Where MASTER_ADDR and MASTER_PORT say that rank 0 is.
struct told_rendezvous {
  std::optional<std::string> host;
  std::optional<std::uint16_t> port;
};

told_rendezvous read_rendezvous(const launch_variable_reader& variables) {
  told_rendezvous told;
  told.host = variables.text("MASTER_ADDR");
  if (told.host && !is_host(*told.host)) {
    refuse_variable("MASTER_ADDR", *told.host, "must be a name or an address of rank 0's host");
  }
  if (const auto port = variables.number("MASTER_PORT", 1, most_port)) told.port = static_cast<std::uint16_t>(*port);
  return told;
}

void require_both(const told_rendezvous& told, const std::string& because) {
  if (!told.host) refuse_variable("MASTER_ADDR", "not set", because);
  if (!told.port) refuse_variable("MASTER_PORT", "not set", because);
}

/// From a step, whose own words are there where MASTER_ADDR and MASTER_PORT are not.
launched_process slurm_process(const launch_variable_reader& variables) {
  auto process = read_slurm_step(variables);
  const auto told = read_rendezvous(variables);
  process.host = told.host ? *told.host : slurm_host(variables);
  process.port = told.port ? *told.port : slurm_port(variables);
  return process;
}

/// MPI finds its ranks by itself: both may be missing.
launched_process mpi_process(const launch_variable_reader& variables, const rank_variables& names) {
  auto process = read_ranks(variables, names);
  const auto told = read_rendezvous(variables);
  if (told.host || told.port) {
    require_both(told, "MASTER_ADDR and MASTER_PORT must both be set, or neither, beside " + std::string(names.rank));
    process.host = *told.host;
    process.port = *told.port;
  }
  return process;
}

launched_process generic_process(const launch_variable_reader& variables) {
  auto process = read_ranks(variables, generic_names);
  const auto run = variables.text("TORCHELASTIC_RUN_ID");
  process.launcher = run ? "torchrun" : "variables";
  process.job = run.value_or("");
  const auto told = read_rendezvous(variables);
  if (process.size > 1 || told.host || told.port) {
    require_both(told, "must be set beside RANK, to say where rank 0 is found");
    process.host = *told.host;
    process.port = *told.port;
    // PyTorch's torch/distributed/rendezvous.py: then the store at MASTER_PORT is the agent's, and ranks are clients.
    if (variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True") {
      if (process.port == most_port) {
        refuse_variable("MASTER_PORT", std::to_string(process.port),
                        "must be less than 65535, for torchrun itself listens there and rank 0 at the next");
      }
      ++process.port;
    }
  }
  return process;
}

/// RANK and WORLD_SIZE as the enroot hook 50-slurm-pytorch.sh repeats them from the step, with a LOCAL_RANK.
launched_process repeated_step(const launch_variable_reader& variables) {
  auto process = slurm_process(variables);
  const auto local_rank = variables.number("LOCAL_RANK", 0, UINT32_MAX);
  if (local_rank && *local_rank != static_cast<std::uint64_t>(process.local_rank)) {
    refuse_variable("LOCAL_RANK", std::to_string(*local_rank),
                    "must be SLURM_LOCALID, which is " + std::to_string(process.local_rank) +
                        ", or LOCAL_WORLD_SIZE must be set too");
  }
  return process;
}

/// All but RANK's.
std::optional<launched_process> find_other_process(const launch_variable_reader& variables) {
  const auto seen = [&](const rank_variables& names) { return variables.has(names.rank) || variables.has(names.size); };
  if (seen(open_mpi_names)) {
    auto process = mpi_process(variables, open_mpi_names);
    process.launcher = "open-mpi";
    process.job = variables.text("PMIX_NAMESPACE").value_or("");
    return process;
  }
  if (seen(pmi_names)) {
    if (!variables.has(pmi_names.local_size) && repeats_slurm_step(variables, pmi_names.rank, pmi_names.size)) {
      return slurm_process(variables);
    }
    auto process = mpi_process(variables, pmi_names);
    process.launcher = "pmi";
    return process;
  }
  if (const auto rank = variables.text("PMIX_RANK")) {
    if (in_slurm_step(variables) && variables.text("SLURM_PROCID") == rank) return slurm_process(variables);
    refuse_variable("PMIX_RANK", *rank,
                    "tells no number of processes, and no Slurm step tells it for this rank: set RANK, WORLD_SIZE, "
                    "LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  }
  if (in_slurm_step(variables)) return slurm_process(variables);
  return std::nullopt;
}

}  // namespace

std::optional<launched_process> find_launched_process(const variable_lookup& lookup) {
  const launch_variable_reader variables(lookup);
  if (variables.has("RANK")) {
    const bool repeats = !variables.has("LOCAL_WORLD_SIZE") && repeats_slurm_step(variables, "RANK", "WORLD_SIZE");
    return repeats ? repeated_step(variables) : generic_process(variables);
  }
  const auto process = find_other_process(variables);
  const auto size = variables.text("WORLD_SIZE");
  if (size && !process) refuse_variable("RANK", "not set", "must be set where WORLD_SIZE is");
  if (size && whole_number(*size) != static_cast<std::uint64_t>(process->size)) {
    refuse_variable("WORLD_SIZE", *size,
                    "must be the number of processes that " + process->launcher + " tells, which is " +
                        std::to_string(process->size) + ", or RANK must be set too");
  }
  return process;
}

std::optional<launched_process> find_launched_process() {
  return find_launched_process([](const char* name) -> std::optional<std::string> {
    const char* value =
        std::getenv(name);  // NOLINT(concurrency-mt-unsafe): the caller sees to it that nothing sets one
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace switchyard::harness
