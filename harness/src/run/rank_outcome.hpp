// SPDX-License-Identifier: Apache-2.0
// What the ranks of a case leave behind, and what it is judged with: no more than can be sent from a process to
// another.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "step_ring.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/verifier.hpp"

namespace switchyard::harness {

/// What one rank found. Written by the rank's thread and stream; read by others once `done` is seen.
struct rank_outcome {
  finding_log log;
  std::optional<recorded_fault> fault;
  std::optional<int> steps_before_fault;  ///< of a rank that has recovered from it
  wait_matrix arrivals_ns;                ///< by phase of the last step, of each peer; none unless every step has ended
  std::string error;                      ///< an exception that was no peer_fault
  bool unsupported = false;               ///< construction said that this machine cannot serve what is asked
  std::vector<step_time> times;           ///< of every step of the case
  int steps_ended = 0;
  int refused_steps = 0;  ///< of a case whose workspaces lack room
  std::uint64_t checked_bytes = 0;
  std::uint64_t results_digest = 0;
  reference::low_precision_error low_precision_error;
  std::string transport;
  std::atomic<int> position{-1};  ///< 2 * step + phase that the stream last entered; after_all once it has ended
  bool done = false;              ///< guarded by whoever has the rank's thread
};

inline constexpr int after_all = 0x7FFFFFFF;

/// "dispatch of step 3", "construction".
std::string place_text(int position);

/// All that a case is judged by.
struct case_evidence {
  const case_spec& spec;
  std::uint64_t seed = 1;
  const std::vector<rank_outcome>& outcomes;  ///< by rank; those that are not done do not count
  const std::vector<step_traffic>& traffic;   ///< by step
  bool on_gpus = false;
  /// Whether moments that two ranks tell can be compared.
  std::function<bool(int rank, int other)> one_clock;
};

}  // namespace switchyard::harness
