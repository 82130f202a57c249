// SPDX-License-Identifier: Apache-2.0
// Environments as tables.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "switchyard/harness/launch_environment.hpp"
#include "switchyard/harness/scenario_error.hpp"

namespace switchyard::harness {

using variables = std::map<std::string, std::string>;

inline std::optional<launched_process> find_in(const variables& set) {
  return find_launched_process([&](const char* name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  });
}

/// `base` with other values, and without those variables whose value is `unset`.
inline constexpr const char* unset = "\x01";
inline variables with(variables base, const variables& changes) {
  for (const auto& [name, value] : changes) {
    if (value == unset) {
      base.erase(name);
    } else {
      base[name] = value;
    }
  }
  return base;
}

/// The message of the refusal; empty, and a failure, where there is none.
inline std::string refusal_of(const variables& set) {
  try {
    const auto process = find_in(set);
    ADD_FAILURE() << "not refused: " << (process ? process->launcher : std::string("nothing seen"));
    return {};
  } catch (const input_error& refused) {
    return refused.what();
  }
}

/// One line for a process: launcher rank/size local_rank/local_size host:port job.
inline std::string told(const std::optional<launched_process>& process) {
  if (!process) return "none";
  return process->launcher + ' ' + std::to_string(process->rank) + '/' + std::to_string(process->size) + ' ' +
         std::to_string(process->local_rank) + '/' + std::to_string(process->local_size) + ' ' + process->host + ':' +
         std::to_string(process->port) + ' ' + process->job;
}

inline std::string told(const variables& set) { return told(find_in(set)); }

/// Rank 6 of 8 on two hosts, as each launcher tells it.
inline const variables torchrun{
    {"RANK", "6"},           {"WORLD_SIZE", "8"},      {"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "4"},
    {"MASTER_ADDR", "h0"},   {"MASTER_PORT", "29500"}, {"GROUP_RANK", "1"}, {"TORCHELASTIC_RUN_ID", "night"},
    {"ROLE_NAME", "default"}};
inline const variables open_mpi{{"OMPI_COMM_WORLD_RANK", "6"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                {"PMIX_RANK", "6"},
                                {"PMIX_NAMESPACE", "prterun-h0-77@1"}};
inline const variables hydra{{"PMI_RANK", "6"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "2"}, {"MPI_LOCALNRANKS", "4"}};
inline const variables slurm{{"SLURM_JOB_ID", "1234"},
                             {"SLURM_JOBID", "1234"},
                             {"SLURM_STEP_ID", "0"},
                             {"SLURM_STEPID", "0"},
                             {"SLURM_PROCID", "6"},
                             {"SLURM_NTASKS", "8"},
                             {"SLURM_STEP_NUM_TASKS", "8"},
                             {"SLURM_LOCALID", "2"},
                             {"SLURM_NODEID", "1"},
                             {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
                             {"SLURM_NODELIST", "tray[01-18]"},
                             {"SLURM_STEP_NODELIST", "tray[07-08]"}};

/// Between 20000 and 30000: 31 * 1234 = 38254.
inline constexpr const char* slurm_told = "slurm 6/8 2/4 tray07:28254 1234.0";

/// What a batch script of that job sees.
inline const variables batch_script = with(slurm, {{"SLURM_STEP_ID", unset},
                                                   {"SLURM_STEPID", unset},
                                                   {"SLURM_STEP_NUM_TASKS", unset},
                                                   {"SLURM_STEP_NODELIST", unset},
                                                   {"SLURM_STEP_TASKS_PER_NODE", unset},
                                                   {"SLURM_PROCID", "0"},
                                                   {"SLURM_LOCALID", "0"},
                                                   {"SLURM_NODEID", "0"},
                                                   {"SLURM_TASKS_PER_NODE", "4(x2)"},
                                                   {"ENVIRONMENT", "BATCH"}});

}  // namespace switchyard::harness
