// SPDX-License-Identifier: Apache-2.0
// Runs one case: ranks as threads, on the CPU or on GPUs, every byte checked against the golden model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "switchyard/config.hpp"
#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/machine.hpp"

namespace switchyard::harness {

class rank_group;  // how ranks come together; see harness/src/run/rank_group.hpp

struct run_options {
  std::uint64_t seed = 1;
  /// A custom fabric for each rank (fault injection); null: the built-in host fabric.
  std::function<std::shared_ptr<fabric>(int rank)> make_fabric;
  /// Asked while the case runs, at least ten times a second, by one thread. Once true the case is left within about a
  /// second and its status is `missing`: it has neither passed nor failed.
  std::function<bool()> stop_requested;
  /// Runs the ranks in place of the CPU; null: the host fabric.
  std::shared_ptr<harness::machine> machine;
  /// Where the ranks are, of this one case; null: all of them threads of this process.
  std::shared_ptr<rank_group> group;
};

/// Runs `spec` and returns what it found; failures of the case are results, not exceptions. Same spec and seed, same
/// result but for times. `memory` supplies workspaces, inputs and outputs and is empty again afterwards; of a machine
/// it supplies copies in place of workspaces, which are no larger.
/// Throws switchyard::out_of_memory when required_bytes(spec) exceed the arena.
case_result run_case(const case_spec& spec, arena& memory, const run_options& options);

}  // namespace switchyard::harness
