// SPDX-License-Identifier: Apache-2.0
// What the ranks of a running case share, and what each of them leaves behind.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rank_device.hpp"
#include "rank_group.hpp"
#include "rank_outcome.hpp"
#include "step_ring.hpp"
#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {

/// Owned jointly by run_case and the rank threads, so that a thread that cannot be stopped never dangles.
struct case_state {
  case_state(const case_spec& which, const run_options& how, arena& from);

  case_spec spec;
  run_options options;
  arena& memory;
  one_sided_config config;
  step_ring ring;
  row_index rows;
  std::shared_ptr<rank_group> group;
  std::vector<std::unique_ptr<rank_device>>
      devices;                                ///< of each rank on a machine, until its thread takes it; or empty
  std::vector<fenced_buffer> outputs;         ///< of each rank; empty for ranks that are elsewhere, as what follows
  std::vector<fenced_buffer> expert_outputs;  ///< of each rank: private_rows, or drafts for a device

  std::atomic<std::uint64_t> progress{0};  ///< counts what ranks get done; a watchdog looks whether it moves

  std::mutex mutex;
  std::condition_variable rank_done;
  std::condition_variable when_called_off;
  bool called_off = false;                  ///< guarded by mutex
  std::vector<one_sided_all_to_all*> live;  ///< of each rank; null before construction and after destruction
  std::vector<rank_outcome> outcomes;       ///< `done` is guarded by mutex

  [[nodiscard]] rank_outcome& outcome(int rank) { return outcomes[static_cast<std::size_t>(rank)]; }
  /// Of the ranks that this process runs. To be used when no rank that is done is written to any more.
  [[nodiscard]] case_evidence evidence() const;
  /// Sleeps, but no longer than until the case is called off.
  void pause(std::chrono::nanoseconds length);
  /// Releases every rank that waits for another, through abort() of the library or in the harness.
  void call_off(const std::string& reason);
};

/// abort() for when there is nobody to tell that it failed: a GPU that was lost takes no abort, and holds nobody up.
void abort_quietly(one_sided_all_to_all& end, const std::string& reason) noexcept;

/// The exchange options that a case runs with.
one_sided_config config_of(const case_spec& spec);

/// The parameters that its workspaces are made for: those of the steps, but where they must not fit.
comm_params workspace_params_of(const case_spec& spec);

/// What a case needs from an arena besides the workspaces.
std::size_t output_bytes(const case_spec& spec);
std::size_t expert_output_bytes(const case_spec& spec);

/// Why `spec` cannot be run, or nothing.
std::optional<std::string> problem_of(const case_spec& spec);

/// Judges the outcomes of the ranks that are done. `stuck` says which ranks a watchdog had to free, empty when none.
case_result conclude(const case_evidence& evidence, const std::string& stuck);

/// `what` the case came to says less than that a device went away under it.
case_result unless_lost(case_result what, const std::optional<std::string>& lost);

/// When a watchdog acts.
struct watchdog_limits {
  std::chrono::nanoseconds patience;  ///< without any progress of any rank
  std::chrono::nanoseconds grace;     ///< for ranks to leave after abort()
};

/// Those of run_case.
watchdog_limits limits_of(const case_spec& spec);

/// run_case with a watchdog of one's own.
case_result run_watched_case(const case_spec& spec, arena& memory, const run_options& options,
                             const watchdog_limits& limits);

}  // namespace switchyard::harness
