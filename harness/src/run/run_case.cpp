// SPDX-License-Identifier: Apache-2.0
// Watches that the ranks of a case get on, and frees those that are stuck.
#include "switchyard/harness/run_case.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "case_state.hpp"
#include "running_case.hpp"

namespace switchyard::harness {
namespace {

using namespace std::chrono_literals;

// Beyond the library's own deadlines: the longest a healthy rank may compute and check between two phases.
constexpr std::chrono::nanoseconds watchdog_slack = 20s;
// How long a rank may take to leave after abort().
constexpr std::chrono::nanoseconds leave_grace = 5s;
constexpr std::chrono::milliseconds look_interval = 50ms;
// The same when somebody waits for the program to end; what still runs then is left behind.
constexpr std::chrono::nanoseconds stop_grace = 400ms;

std::string name_stuck_ranks(const case_state& state) {
  std::string names;
  for (std::size_t rank = 0; rank < state.outcomes.size(); ++rank) {
    const int position = state.outcomes[rank].position.load(std::memory_order_relaxed);
    if (position == after_all) continue;
    names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank) + " in " + place_text(position);
  }
  return names;
}

void free_ranks(running_case& running, const std::string& reason, std::chrono::nanoseconds grace) {
  running.state().call_off(reason);
  if (running.wait(grace)) return;
  running.state().group->call_off(meeting_point::after_steps);  // lets those go that wait only for those who are stuck
  running.wait(grace);
}

struct watch_end {
  bool stopped = false;  ///< on request
  std::string stuck;     ///< what the watchdog saw; empty when every rank came back
};

// Returns when every rank came back, or after the others and, where possible, those that are stuck were freed.
watch_end watch(running_case& running, const watchdog_limits& limits) {
  auto& state = running.state();
  std::uint64_t seen = 0;
  auto moved = std::chrono::steady_clock::now();
  while (!running.wait(look_interval)) {
    if (state.options.stop_requested && state.options.stop_requested()) {
      free_ranks(running, "the run was stopped", std::min(stop_grace, limits.grace));
      return {true, {}};
    }
    const std::uint64_t progress = state.progress.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (progress != seen) {
      seen = progress;
      moved = now;
    } else if (now - moved > limits.patience) {
      // The limit and not the time that passed: the same seed gives the same reason.
      const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(limits.patience);
      const std::string stuck = "no progress for " + std::to_string(limit.count()) + " ms: " + name_stuck_ranks(state);
      free_ranks(running, "the harness saw " + stuck, limits.grace);
      return {false, stuck};
    }
  }
  return {};
}

}  // namespace

case_result run_watched_case(const case_spec& spec, arena& memory, const run_options& options,
                             const watchdog_limits& limits) {
  auto begun = start_case(spec, memory, options);
  if (auto* ended = std::get_if<case_result>(&begun)) return std::move(*ended);
  auto& running = *std::get<std::unique_ptr<running_case>>(begun);
  const auto watched = watch(running, limits);
  const bool everyone_left = running.leave();
  case_result result;
  if (watched.stopped) {
    result.status = case_status::missing;
    result.reason = "stopped before its end";
  } else {
    const auto found = running.found();
    result = conclude(found, watched.stuck);
    if (options.machine) result = unless_lost(std::move(result), options.machine->lost());
  }
  if (!everyone_left) result.reason += "; a rank could not be stopped and was left behind";
  return result;
}

watchdog_limits limits_of(const case_spec& spec) {
  const auto config = config_of(spec);
  return {std::max(config.timeout, config.warmup_timeout) + watchdog_slack, leave_grace};
}

case_result run_case(const case_spec& spec, arena& memory, const run_options& options) {
  return run_watched_case(spec, memory, options, limits_of(spec));
}

}  // namespace switchyard::harness
