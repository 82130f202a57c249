// SPDX-License-Identifier: Apache-2.0
#include "running_case.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "rank_runner.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

case_result ended(case_status status, std::string reason) {
  case_result result;
  result.status = status;
  result.reason = std::move(reason);
  return result;
}

/// Why the case does not begin here.
std::optional<case_result> reason_not_to_start(const case_spec& spec, const run_options& options) {
  if (spec.launch != launch_mode::eager && !(options.machine && options.machine->replays())) {
    return ended(case_status::skipped,
                 "launch " + std::string(to_string(spec.launch)) + ": only the cuda fabric has graphs");
  }
  if (spec.inject && spec.inject->ends_process() && !(options.group && options.group->of_processes())) {
    return ended(case_status::skipped, "inject.kind " + std::string(to_string(spec.inject->kind)) +
                                           ": needs ranks that are processes (--launch)");
  }
  if (!options.machine) return std::nullopt;
  if (auto reason = options.machine->reason_to_skip(spec)) return ended(case_status::skipped, std::move(*reason));
  // In an earlier case: what would run now shows nothing.
  if (const auto lost = options.machine->lost()) return ended(case_status::device_lost, "not run: " + *lost);
  return std::nullopt;
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

running_case::running_case(std::shared_ptr<case_state> state, std::vector<std::thread> threads)
    : state_(std::move(state)), threads_(std::move(threads)) {}

running_case::~running_case() { leave(); }

bool running_case::wait(std::chrono::nanoseconds limit) {
  std::unique_lock lock(state_->mutex);
  return state_->rank_done.wait_for(lock, limit, [&] {
    for (std::size_t rank = 0; rank < threads_.size(); ++rank) {
      if (threads_[rank].joinable() && !state_->outcomes[rank].done) return false;
    }
    return true;
  });
}

bool running_case::leave() {
  if (everyone_left_) return *everyone_left_;
  everyone_left_ = true;
  for (std::size_t rank = 0; rank < threads_.size(); ++rank) {
    if (!threads_[rank].joinable()) continue;
    std::unique_lock lock(state_->mutex);
    const bool done = state_->outcomes[rank].done;
    lock.unlock();
    if (done) {
      threads_[rank].join();
    } else {  // it may still run, so it keeps the memory that it knows
      threads_[rank].detach();
      everyone_left_ = false;
    }
  }
  if (*everyone_left_) {
    state_->memory.reset();
  } else {
    state_->memory.abandon();
    if (state_->options.machine) state_->options.machine->abandon();
  }
  return *everyone_left_;
}

case_evidence running_case::found() const { return state_->evidence(); }

std::variant<std::unique_ptr<running_case>, case_result> start_case(const case_spec& spec, arena& memory,
                                                                    const run_options& options) {
  std::size_t needed = 0;
  try {
    if (const auto problem = problem_of(spec)) return ended(case_status::fail, *problem);
    const bool here = !options.group || !options.group->of_processes();
    needed = here ? required_bytes(spec) : required_bytes(spec, 1, options.machine != nullptr);
  } catch (const invalid_argument& problem) {
    return ended(case_status::fail, problem.what());
  }
  if (needed > memory.capacity()) {
    throw out_of_memory("case " + spec.id + " needs " + std::to_string(needed) + " bytes, the arena has " +
                        std::to_string(memory.capacity()));
  }
  if (auto reason = reason_not_to_start(spec, options)) return std::move(*reason);
  memory.reset();
  auto state = std::make_shared<case_state>(spec, options, memory);
  try {
    if (options.machine) state->devices = options.machine->open(state->spec, memory);
  } catch (const error& problem) {  // a GPU that was lost in an earlier case, for example
    state.reset();
    memory.reset();
    return unless_lost(ended(case_status::fail, std::string("devices: ") + problem.what()), options.machine->lost());
  }
  std::vector<std::thread> threads(static_cast<std::size_t>(spec.ep_size));
  try {
    for (int rank = 0; rank < spec.ep_size; ++rank) {
      if (!state->group->is_here(rank)) continue;
      threads[static_cast<std::size_t>(rank)] = std::thread([state, rank] { live_as_rank(state, rank); });
    }
  } catch (const std::system_error& problem) {
    const auto no_thread = std::string("a rank's thread could not be started: ") + problem.what();
    state->call_off(no_thread);
    state->group->call_off(meeting_point::after_steps);
    for (auto& thread : threads) {
      if (thread.joinable()) thread.join();
    }
    state.reset();
    memory.reset();
    return ended(case_status::fail, no_thread);
  }
  return std::make_unique<running_case>(std::move(state), std::move(threads));
}

}  // namespace switchyard::harness
