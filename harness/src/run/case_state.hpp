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
#include "step_ring.hpp"
#include "switchyard/harness/arena.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/run_case.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/one_sided_all_to_all.hpp"

namespace switchyard::harness {

/// What one rank found. Written by the rank's thread and stream; read by others once `done` is seen.
struct rank_outcome {
  finding_log log;
  std::optional<recorded_fault> fault;
  std::optional<int> steps_before_fault;  ///< of a rank that has recovered from it
  wait_matrix arrivals_ns;                ///< by phase of the last step, of each peer; none unless every step has ended
  std::string error;                      ///< an exception that was no peer_fault
  bool unsupported = false;               ///< construction said that this machine cannot serve what is asked
  std::vector<step_time> times;
  int steps_ended = 0;
  int refused_steps = 0;  ///< of a case whose workspaces lack room
  std::uint64_t checked_bytes = 0;
  std::uint64_t results_digest = 0;
  reference::low_precision_error low_precision_error;
  std::string transport;
  std::atomic<int> position{-1};  ///< 2 * step + phase that the stream last entered; after_all once it has ended
  bool done = false;              ///< guarded by case_state::mutex
};

inline constexpr int after_all = 0x7FFFFFFF;

/// A meeting point that can be called off.
class meeting {
 public:
  explicit meeting(int expected) : expected_(expected) {}
  /// Waits until all have come; false when called off before. Everybody gets the same answer, however late they look.
  bool arrive_and_wait();
  void call_off();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int expected_;
  bool complete_ = false;
  bool called_off_ = false;
};

/// Owned jointly by run_case and the rank threads, so that a thread that cannot be stopped never dangles.
struct case_state {
  case_state(const case_spec& which, const run_options& how, arena& from);

  case_spec spec;
  run_options options;
  arena& memory;
  one_sided_config config;
  step_ring ring;
  row_index rows;
  std::vector<std::shared_ptr<comm_backend>> backends;
  std::vector<std::unique_ptr<rank_device>>
      devices;                                ///< of each rank on a machine, until its thread takes it; or empty
  std::vector<fenced_buffer> outputs;         ///< of each rank
  std::vector<fenced_buffer> expert_outputs;  ///< of each rank: private_rows, or drafts for a device

  meeting before_construction;
  meeting after_construction;
  meeting before_recovery;
  meeting after_recovery;
  meeting after_steps;
  std::atomic<bool> construction_failed{false};
  std::atomic<std::uint64_t> progress{0};  ///< counts what ranks get done; a watchdog looks whether it moves

  std::mutex mutex;
  std::condition_variable rank_done;
  std::condition_variable when_called_off;
  bool called_off = false;                  ///< guarded by mutex
  std::vector<one_sided_all_to_all*> live;  ///< of each rank; null before construction and after destruction
  std::vector<rank_outcome> outcomes;
  std::map<int, std::vector<std::shared_ptr<comm_backend>>> later_backends;  ///< by step; guarded by mutex

  [[nodiscard]] rank_outcome& outcome(int rank) { return outcomes[static_cast<std::size_t>(rank)]; }
  /// One rank's of a new set of backends for what happens before `step`.
  [[nodiscard]] std::shared_ptr<comm_backend> fresh_backend(int step, int rank);
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
case_result conclude(const case_state& state, const std::string& stuck);

/// When a watchdog acts.
struct watchdog_limits {
  std::chrono::nanoseconds patience;  ///< without any progress of any rank
  std::chrono::nanoseconds grace;     ///< for ranks to leave after abort()
};

/// run_case with a watchdog of one's own.
case_result run_watched_case(const case_spec& spec, arena& memory, const run_options& options,
                             const watchdog_limits& limits);

}  // namespace switchyard::harness
