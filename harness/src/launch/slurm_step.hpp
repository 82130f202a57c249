// SPDX-License-Identifier: Apache-2.0
// The process that the variables of a Slurm step tell of.
#pragma once

#include "launch_variables.hpp"

namespace switchyard::harness {

/// Whether this is a task of a step that srun started, and not a batch script or the shell of an allocation.
bool in_slurm_step(const launch_variable_reader& variables);

/// Whether `rank` and `size` are variables that say the same as the step's.
bool repeats_slurm_step(const launch_variable_reader& variables, const char* rank, const char* size);

/// All of it but host and port. In a step only. Throws input_error as find_launched_process.
launched_process read_slurm_step(const launch_variable_reader& variables);

/// The first host of the step. Throws input_error.
std::string slurm_host(const launch_variable_reader& variables);

/// slurm_port of this step. Throws input_error.
std::uint16_t slurm_port(const launch_variable_reader& variables);

}  // namespace switchyard::harness
