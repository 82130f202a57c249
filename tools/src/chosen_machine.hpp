// SPDX-License-Identifier: Apache-2.0
// The machine that a run's ranks are to run on.
#pragma once

#include <memory>
#include <vector>

#include "run_options.hpp"
#include "switchyard/harness/machine.hpp"
#include "switchyard/harness/record_json.hpp"

namespace switchyard::tools {

struct chosen_machine {
  harness::fabric_description fabric;
  std::shared_ptr<harness::machine> machine;  ///< null: the CPU
};

/// Finds and opens the GPUs that the options ask for; the first use of CUDA in the process, and none for the host
/// fabric. Throws environment_error when a GPU, a driver or what SWITCHYARD_REQUIRE_GPUS demands is not here, or when a
/// case needs more memory than the GPUs have; input_error when that variable is no number.
chosen_machine open_machine(const run_command_options& options, const std::vector<harness::case_spec>& cases,
                            const harness::machine_ranks& ranks = {});

}  // namespace switchyard::tools
