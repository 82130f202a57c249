// SPDX-License-Identifier: Apache-2.0
// Which process of which job this one is, as launchers tell it by environment variables.
//
// What each variable means stands in: PyTorch, "torchrun (Elastic Launch)", environment variables; Open MPI 5,
// "Environment variables set for MPI applications"; Slurm, srun(1), output environment variables, and its
// src/common/env.c, which tells apart what a job's and what a step's processes get; PMI_RANK and PMI_SIZE: Slurm's
// plugin mpi/pmi2 and Hydra; MPI_LOCALRANKID and MPI_LOCALNRANKS: Hydra. harness/docs/launching.md is for people.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace switchyard::harness {

/// The value of a variable, which may be empty, or nothing where it is not set.
using variable_lookup = std::function<std::optional<std::string>(const char* name)>;

struct launched_process {
  std::string launcher;  ///< torchrun, variables (RANK and WORLD_SIZE from elsewhere), open-mpi, pmi or slurm
  int rank = 0;          ///< 0 .. size - 1
  int size = 1;          ///< 1 .. max_ep_size
  int local_rank = 0;    ///< 0 .. local_size - 1, among the job's processes of this host
  int local_size = 1;    ///< 1 .. size
  std::string host;      ///< where rank 0 is to be found, a name or an address; empty: not told, and then port is 0
  std::uint16_t port = 0;
  std::string job;  ///< what no other job of this launcher is called at the same time; empty: not told
};

/// What a refusal may say was looked for.
inline constexpr const char* launch_variables =
    "RANK and WORLD_SIZE, OMPI_COMM_WORLD_RANK, PMI_RANK, PMIX_RANK or SLURM_STEP_ID";

/// The process that the variables tell of, or nothing where they tell of none. Calls `lookup` and nothing else.
///
/// The first of these that is seen answers:
///   1. RANK: it goes with WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Job:
///      TORCHELASTIC_RUN_ID. Where TORCHELASTIC_USE_AGENT_STORE is True, torchrun itself listens at MASTER_PORT, and
///      the port is the next one;
///   2. OMPI_COMM_WORLD_RANK or OMPI_COMM_WORLD_SIZE: with the other, and OMPI_COMM_WORLD_LOCAL_RANK and _LOCAL_SIZE.
///      Job: PMIX_NAMESPACE;
///   3. PMI_RANK or PMI_SIZE: with the other, MPI_LOCALRANKID and MPI_LOCALNRANKS;
///   4. PMIX_RANK: it comes with no number of processes, so it counts as told by the Slurm step of 5, or is refused;
///   5. SLURM_STEP_ID (or SLURM_STEPID): SLURM_PROCID, SLURM_STEP_NUM_TASKS (or SLURM_NTASKS), SLURM_LOCALID;
///   local_size
///      is this node's entry of SLURM_STEP_TASKS_PER_NODE, by SLURM_NODEID, or SLURM_NTASKS_PER_NODE. Host: the first
///      of SLURM_STEP_NODELIST (or SLURM_NODELIST), on which Slurm has task 0 unless tasks are distributed arbitrarily.
///      Port: slurm_port(). Job: SLURM_JOB_ID.SLURM_STEP_ID. A batch script and the shell of an allocation are no
///      tasks of a step, though they see SLURM_PROCID and SLURM_NTASKS: they have no step id, or a reserved one.
/// mpirun and torchrun started inside a Slurm step are asked before the step, whose tasks their own processes are.
/// Where 1 or 3 have the rank and the size of the Slurm step and do not say how many processes this host has, they
/// repeat the step (srun --mpi=pmi2, containers of PyTorch), and the step answers; a LOCAL_RANK must then be the
/// step's.
///
/// MASTER_ADDR and MASTER_PORT, where set, take the place of what another launcher than 1 says of host and port.
/// No local rank is derived: where a launcher tells none or only how many there are, a job of one process is alone on
/// its host, and a larger one is refused.
///
/// Throws input_error "variable: value: rule" for a number that is none (decimal, without sign or leading zeros) or out
/// of bounds: size 1 .. max_ep_size, rank below size, local_rank below local_size, local_size at most size, port 1 ..
/// 65535; for a variable that is missing beside another; for RANK and processes of several but no MASTER_ADDR or
/// MASTER_PORT; for one of the two alone where nothing else tells the other; for Slurm lists that are none or do not
/// add up; and for a WORLD_SIZE without RANK that is not the size that another launcher tells. Variables of launchers
/// that do not answer are not looked at further.
std::optional<launched_process> find_launched_process(const variable_lookup& lookup);

/// The same for the variables of this process. Not while another thread may set one.
std::optional<launched_process> find_launched_process();

/// Where rank 0 of a step listens unless MASTER_PORT says it: 20000 + (31 * job + step) mod 10000. Below 30000, so that
/// neither the ports that Linux gives to outgoing connections (ip_local_port_range, from 32768) nor Kubernetes' node
/// ports (from 30000) take it; neighbouring jobs and steps of a job that share a host have different ones.
std::uint16_t slurm_port(std::uint32_t job, std::uint32_t step);

}  // namespace switchyard::harness
