// SPDX-License-Identifier: Apache-2.0
// The ranks of a case that this process runs: started, waited for, and taken down again.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "case_state.hpp"

namespace switchyard::harness {

class running_case {
 public:
  /// Takes ranks' threads that have been started. Use start_case().
  running_case(std::shared_ptr<case_state> state, std::vector<std::thread> threads);
  /// As leave().
  ~running_case();
  running_case(const running_case&) = delete;
  running_case& operator=(const running_case&) = delete;

  [[nodiscard]] case_state& state() noexcept { return *state_; }
  /// Whether every rank of this process is done, which it waits for no longer than `limit`.
  bool wait(std::chrono::nanoseconds limit);
  /// Joins the ranks that are done and leaves those behind that are not, with all memory that they know of; the arena
  /// is empty again, or another one. Whether everyone was done. Idempotent.
  bool leave();
  /// What the ranks that are done have found. Behind leave(); valid as long as this.
  [[nodiscard]] case_evidence found() const;

 private:
  std::shared_ptr<case_state> state_;
  std::vector<std::thread> threads_;  // by rank; not joinable where the rank is elsewhere
  std::optional<bool> everyone_left_;
};

/// The case has begun, or it cannot run here, as its result says. Throws switchyard::out_of_memory when the arena is
/// too small.
std::variant<std::unique_ptr<running_case>, case_result> start_case(const case_spec& spec, arena& memory,
                                                                    const run_options& options);

/// Bytes of an arena for `ranks_here` ranks of the case, whose workspaces lie in it or, where ranks are processes,
/// elsewhere.
std::size_t required_bytes(const case_spec& spec, int ranks_here, bool with_workspaces);

}  // namespace switchyard::harness
