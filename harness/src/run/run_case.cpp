// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a case, watches that they get on, and takes everything down again.
#include "switchyard/harness/run_case.hpp"

#include <algorithm>
#include <memory>
#include <system_error>
#include <thread>

#include "case_state.hpp"
#include "rank_runner.hpp"
#include "switchyard/spec/errors.hpp"

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

case_result failed(std::string reason) {
  case_result result;
  result.status = case_status::fail;
  result.reason = std::move(reason);
  return result;
}

case_result skipped(std::string reason) {
  case_result result;
  result.status = case_status::skipped;
  result.reason = std::move(reason);
  return result;
}

/// `what` the case came to says less than that a device went away under it.
case_result unless_lost(case_result what, const run_options& options) {
  if (!options.machine || what.status == case_status::pass || what.status == case_status::skipped ||
      what.status == case_status::missing) {
    return what;
  }
  const auto lost = options.machine->lost();
  if (!lost) return what;
  what.status = case_status::device_lost;
  what.reason = *lost + "; seen as: " + what.reason;
  return what;
}

bool all_done(const case_state& state) {
  return std::ranges::all_of(state.outcomes, [](const rank_outcome& outcome) { return outcome.done; });
}

std::string name_stuck_ranks(const case_state& state) {
  std::string names;
  for (std::size_t rank = 0; rank < state.outcomes.size(); ++rank) {
    const int position = state.outcomes[rank].position.load(std::memory_order_relaxed);
    if (position == after_all) continue;
    names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank) + " in ";
    if (position < 0) {
      names += "construction";
    } else {
      names += std::string(to_string(static_cast<phase>(position % 2))) + " of step " + std::to_string(position / 2);
    }
  }
  return names;
}

bool wait_until_done(case_state& state, std::chrono::nanoseconds limit) {
  std::unique_lock lock(state.mutex);
  return state.rank_done.wait_for(lock, limit, [&] { return all_done(state); });
}

void free_ranks(case_state& state, const std::string& reason, std::chrono::nanoseconds grace) {
  state.call_off(reason);
  if (wait_until_done(state, grace)) return;
  state.after_steps.call_off();  // lets the ranks go that wait only for those who are stuck
  wait_until_done(state, grace);
}

struct watch_end {
  bool stopped = false;  ///< on request
  std::string stuck;     ///< what the watchdog saw; empty when every rank came back
};

// Returns when every rank came back, or after the others and, where possible, those that are stuck were freed.
watch_end watch(case_state& state, const watchdog_limits& limits) {
  std::uint64_t seen = 0;
  auto moved = std::chrono::steady_clock::now();
  while (!wait_until_done(state, look_interval)) {
    if (state.options.stop_requested && state.options.stop_requested()) {
      free_ranks(state, "the run was stopped", std::min(stop_grace, limits.grace));
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
      free_ranks(state, "the harness saw " + stuck, limits.grace);
      return {false, stuck};
    }
  }
  return {};
}

void live_as_rank(const std::shared_ptr<case_state>& state, int rank) {
  {
    rank_runner runner(*state, rank);
    runner.run();
  }
  const std::lock_guard lock(state->mutex);
  state->outcome(rank).done = true;
  state->rank_done.notify_all();
}

}  // namespace

case_result run_watched_case(const case_spec& spec, arena& memory, const run_options& options,
                             const watchdog_limits& limits) {
  std::size_t needed = 0;
  try {
    if (const auto problem = problem_of(spec)) return failed(*problem);
    needed = required_bytes(spec);
  } catch (const invalid_argument& problem) {
    return failed(problem.what());
  }
  if (needed > memory.capacity()) {
    throw out_of_memory("case " + spec.id + " needs " + std::to_string(needed) + " bytes, the arena has " +
                        std::to_string(memory.capacity()));
  }
  if (spec.launch != launch_mode::eager && !(options.machine && options.machine->replays())) {
    return skipped("launch " + std::string(to_string(spec.launch)) + ": only the cuda fabric has graphs");
  }
  if (options.machine) {
    if (auto reason = options.machine->reason_to_skip(spec)) return skipped(std::move(*reason));
    if (const auto lost = options.machine->lost()) {  // in an earlier case: what would run now shows nothing
      auto result = failed("not run: " + *lost);
      result.status = case_status::device_lost;
      return result;
    }
  }
  memory.reset();
  auto state = std::make_shared<case_state>(spec, options, memory);
  try {
    if (options.machine) state->devices = options.machine->open(state->spec, memory);
  } catch (const error& problem) {  // a GPU that was lost in an earlier case, for example
    state.reset();
    memory.reset();
    return unless_lost(failed(std::string("devices: ") + problem.what()), options);
  }
  std::vector<std::thread> threads;
  std::string no_thread;
  try {
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      threads.emplace_back([state, rank] { live_as_rank(state, rank); });
    }
  } catch (const std::system_error& problem) {
    no_thread = std::string("a rank's thread could not be started: ") + problem.what();
    state->call_off(no_thread);
    state->after_steps.call_off();
  }
  const auto watched = no_thread.empty() ? watch(*state, limits) : watch_end{};

  bool everyone_left = true;
  for (std::size_t rank = 0; rank < threads.size(); ++rank) {
    std::unique_lock lock(state->mutex);
    const bool done = state->outcomes[rank].done;
    lock.unlock();
    if (done || !no_thread.empty()) {
      threads[rank].join();
    } else {  // it may still run, so it keeps the memory that it knows
      threads[rank].detach();
      everyone_left = false;
    }
  }
  if (!no_thread.empty()) return failed(no_thread);
  std::unique_lock lock(state->mutex);
  case_result result;
  if (watched.stopped) {
    result.status = case_status::missing;
    result.reason = "stopped before its end";
  } else {
    result = unless_lost(conclude(*state, watched.stuck), options);
  }
  lock.unlock();
  if (everyone_left) {
    memory.reset();
  } else {
    result.reason += "; a rank could not be stopped and was left behind";
    memory.abandon();
    if (options.machine) options.machine->abandon();
  }
  return result;
}

case_result run_case(const case_spec& spec, arena& memory, const run_options& options) {
  const auto config = config_of(spec);
  return run_watched_case(spec, memory, options,
                          {std::max(config.timeout, config.warmup_timeout) + watchdog_slack, leave_grace});
}

}  // namespace switchyard::harness
