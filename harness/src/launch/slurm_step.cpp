// SPDX-License-Identifier: Apache-2.0
// What srun tells a task. Slurm's src/common/env.c: env_array_for_step() sets SLURM_STEP_*, for the tasks of srun
// alone; env_array_for_batch_job() gives a batch script the job's variables, and setup_env() gives every process that
// Slurm starts SLURM_PROCID and SLURM_LOCALID.
#include "slurm_step.hpp"

#include <numeric>

#include "slurm_lists.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {
namespace {

// SLURM_MAX_NORMAL_STEP_ID of slurm.h. Above it are the batch script's, the interactive shell's and others that are no
// steps of srun.
constexpr std::uint64_t most_step_id = 0xfffffff0;

const char* step_id_name(const launch_variable_reader& variables) {
  return variables.either("SLURM_STEP_ID", "SLURM_STEPID");
}

const char* size_name(const launch_variable_reader& variables) {
  return variables.either("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
}

struct step_name {
  std::uint32_t job;
  std::uint32_t step;
};

step_name read_step_name(const launch_variable_reader& variables) {
  const auto* id = step_id_name(variables);
  const auto job = variables.needed(variables.either("SLURM_JOB_ID", "SLURM_JOBID"), 0, UINT32_MAX,
                                    std::string("must be set where ") + id + " is");
  const auto step = variables.needed(id, 0, most_step_id, "must name the step");
  return {static_cast<std::uint32_t>(job), static_cast<std::uint32_t>(step)};
}

/// Entry of this node in the list of tasks per node.
std::uint64_t read_local_size(const launch_variable_reader& variables, const char* name, std::uint64_t size) {
  const auto text = *variables.text(name);
  const auto counts = slurm_tasks_per_node(text, max_ep_size);
  if (!counts) {
    refuse_variable(name, text,
                    "must be a Slurm list of tasks such as 4(x18) or 2,1(x3), of at most " +
                        std::to_string(max_ep_size) + " in all");
  }
  if (std::accumulate(counts->begin(), counts->end(), std::uint64_t{0}) != size) {
    refuse_variable(name, text,
                    std::string("must add up to ") + size_name(variables) + ", which is " + std::to_string(size));
  }
  if (counts->size() == 1) return counts->front();
  const auto node = variables.needed("SLURM_NODEID", 0, counts->size() - 1,
                                     std::string("must say which entry of ") + name + " is this node's");
  return (*counts)[static_cast<std::size_t>(node)];
}

}  // namespace

bool in_slurm_step(const launch_variable_reader& variables) {
  const auto step = variables.number(step_id_name(variables), 0, UINT32_MAX);
  return step && *step <= most_step_id;
}

bool repeats_slurm_step(const launch_variable_reader& variables, const char* rank, const char* size) {
  const auto step_rank = variables.text("SLURM_PROCID");
  const auto step_size = variables.text(size_name(variables));
  return in_slurm_step(variables) && step_rank && step_size && variables.text(rank) == step_rank &&
         variables.text(size) == step_size;
}

launched_process read_slurm_step(const launch_variable_reader& variables) {
  const auto name = read_step_name(variables);
  rank_variables names{"SLURM_PROCID", size_name(variables), "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"};
  std::optional<std::uint64_t> local_size;
  if (variables.has("SLURM_STEP_TASKS_PER_NODE")) {
    names.local_size = "SLURM_STEP_TASKS_PER_NODE";
    const auto size = variables.needed(names.size, 1, max_ep_size, "must say how many tasks the step has");
    local_size = read_local_size(variables, names.local_size, size);
  }
  auto process = read_ranks(variables, names, local_size);
  process.launcher = "slurm";
  process.job = std::to_string(name.job) + '.' + std::to_string(name.step);
  return process;
}

std::string slurm_host(const launch_variable_reader& variables) {
  const auto* name = variables.either("SLURM_STEP_NODELIST", "SLURM_NODELIST");
  const auto list = variables.text(name);
  if (!list) refuse_variable(name, "not set", "must say which hosts the step has, or MASTER_ADDR where rank 0 is");
  const auto host = first_slurm_host(*list);
  if (!host) refuse_variable(name, *list, "must be a Slurm host list such as tray[01-18] or a[3,5-7],b1");
  return *host;
}

std::uint16_t slurm_port(const launch_variable_reader& variables) {
  const auto name = read_step_name(variables);
  return slurm_port(name.job, name.step);
}

std::uint16_t slurm_port(std::uint32_t job, std::uint32_t step) {
  constexpr std::uint64_t first = 20000;
  constexpr std::uint64_t count = 10000;
  constexpr std::uint64_t steps =
      31;  // no divisor of count: jobs in a row have different ports, and so have these steps
  return static_cast<std::uint16_t>(first + (steps * job + step) % count);
}

}  // namespace switchyard::harness
