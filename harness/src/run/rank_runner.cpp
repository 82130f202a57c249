// SPDX-License-Identifier: Apache-2.0
// A rank's thread: construction, the sequence of steps, and leaving without holding anyone up.
#include "rank_runner.hpp"

#include <cstring>
#include <exception>
#include <thread>

namespace switchyard::harness {

rank_runner::rank_runner(case_state& state, int rank)
    : state_(state),
      spec_(state.spec),
      rank_(rank),
      outcome_(state.outcome(rank)),
      verifier_(state.spec, rank, state.rows) {}

void rank_runner::run() {
  try {
    stream_ = std::make_unique<host_stream>(spec_.workers);
  } catch (const std::exception& failure) {
    outcome_.error = std::string("stream: ") + failure.what();
    state_.construction_failed = true;
  }
  // Together, so that nobody's deadline runs while others' threads are still being started.
  const bool all_started = state_.before_construction.arrive_and_wait() && !state_.construction_failed;
  try {
    if (all_started) construct();
  } catch (const std::exception& failure) {
    outcome_.error = std::string("construction: ") + failure.what();
  }
  if (exchange_ == nullptr) state_.construction_failed = true;
  workspace_guards guards;
  if (workspace_ != nullptr) {
    guards = workspace_guards(workspace_, state_.regions, state_.workspace_size);
    guards.fill();
  }
  // No rank may write to a peer before that peer's guards are filled, or an overrun would be painted over.
  const bool together = state_.after_construction.arrive_and_wait();
  if (together && !state_.construction_failed) {
    std::string error;
    try {
      run_steps();
    } catch (const peer_fault& fault) {
      // The record is taken from status(); a fault without a record is an error of its own.
      if (!exchange_->status()) error = fault.what();
    } catch (const std::exception& failure) {
      error = failure.what();
      exchange_->abort(error);
    }
    stream_->synchronize();
    if (outcome_.error.empty()) outcome_.error = error;  // only now: until here the stream's tasks may write it
    outcome_.fault = exchange_->status();
    outcome_.checked_bytes = verifier_.checked_bytes();
  }
  state_.ring.leave(rank_);
  outcome_.position.store(after_all, std::memory_order_relaxed);
  state_.progress.fetch_add(1, std::memory_order_relaxed);
  state_.after_steps.arrive_and_wait();  // then all writing has ended
  check_guards(guards);
  {
    const std::lock_guard lock(state_.mutex);
    state_.live[static_cast<std::size_t>(rank_)] = nullptr;
  }
  exchange_.reset();
  stream_.reset();
}

void rank_runner::construct() {
  bootstrap boot;
  boot.rank = rank_;
  boot.ep_size = spec_.ep_size;
  boot.comm_backend = state_.backends[static_cast<std::size_t>(rank_)];
  boot.host_memory = &state_.memory;
  boot.first_epoch = spec_.first_epoch;
  if (state_.options.make_fabric) boot.custom_fabric = state_.options.make_fabric(rank_);
  exchange_ = std::make_unique<one_sided_all_to_all>(boot, spec_.params, state_.config);
  workspace_ = exchange_->workspace_data();
  const std::lock_guard lock(state_.mutex);
  state_.live[static_cast<std::size_t>(rank_)] = exchange_.get();
}

void rank_runner::run_steps() {
  for (int step = 0; step < spec_.steps; ++step) {
    if (!enqueue_step(step)) return;
  }
}

bool rank_runner::enqueue_step(int step) {
  const auto absent_at = [&](phase which) {
    return spec_.absent && spec_.absent->rank == rank_ && spec_.absent->step == step && spec_.absent->phase == which;
  };
  if (absent_at(phase::dispatch)) return false;
  const step_inputs* inputs = state_.ring.acquire(step);
  if (inputs == nullptr) return false;
  const step_plan& plan = inputs->plan();

  enqueue_delay(step, phase::dispatch);
  enqueue_start(step, phase::dispatch);
  const auto views = exchange_->dispatch(inputs->arguments(rank_), {plan.tokens_per_rank_of(rank_)}, *stream_);
  if (step == 0) outcome_.transport = to_string(views.transport);
  enqueue([this, inputs, views] { end_of_dispatch(*inputs, views); });
  if (absent_at(phase::combine)) return false;

  const dtype type = spec_.params.dtype;
  std::byte* expert_rows = plan.source == combine_source::workspace_rows
                               ? exchange_->combine_input_buffer(type).data
                               : state_.expert_outputs[static_cast<std::size_t>(rank_)].data();
  auto& output = state_.outputs[static_cast<std::size_t>(rank_)];
  const auto count = plan.num_tokens[static_cast<std::size_t>(rank_)];
  enqueue([this, inputs, views, expert_rows, &output, count, type] {
    if (!faulted_) {
      compute_experts(*inputs, views, expert_rows);
      poison_views(*inputs, views);
    }
    const auto width = static_cast<std::size_t>(inputs->plan().combine_hidden_size) * itemsize(type);
    output.resize(static_cast<std::size_t>(count) * width);
    std::memset(output.data(), std::to_integer<int>(poison_byte(inputs->step())), output.bytes());
  });
  enqueue_delay(step, phase::combine);
  enqueue_start(step, phase::combine);
  exchange_->combine({expert_rows, plan.combine_hidden_size, type}, {count > 0 ? output.data() : nullptr, count},
                     *stream_);
  enqueue([this, inputs] { end_of_combine(*inputs); });
  return true;
}

// The sleep is a task of the stream and not of this thread, which may be steps ahead of the stream: slept there, it
// would delay nothing.
void rank_runner::enqueue_delay(int step, phase which) {
  const delay drawn = make_delay(spec_, state_.options.seed, step, which);
  if (drawn.rank != rank_) return;
  enqueue([this, length = drawn.length] {
    if (!faulted_) state_.pause(length);
  });
}

void rank_runner::enqueue_start(int step, phase which) {
  enqueue([this, position = 2 * step + static_cast<int>(which)] {
    outcome_.position.store(position, std::memory_order_relaxed);
    phase_start_ = std::chrono::steady_clock::now();
  });
}

void rank_runner::enqueue(std::function<void()> task) {
  stream_->enqueue([this, task = std::move(task)] {
    try {
      task();
    } catch (const std::exception& failure) {
      if (outcome_.error.empty()) outcome_.error = std::string("check: ") + failure.what();
    }
    state_.progress.fetch_add(1, std::memory_order_relaxed);
  });
}

void rank_runner::check_guards(const workspace_guards& guards) {
  for (const auto& broken : guards.check()) {
    outcome_.log.add({.verdict = verdict::overrun,
                      .destination = rank_,
                      .buffer = broken.region,
                      .byte = broken.damage.offset,
                      .expected = std::to_integer<std::uint64_t>(broken.damage.expected),
                      .actual = std::to_integer<std::uint64_t>(broken.damage.actual),
                      .count = broken.damage.count,
                      .detail = "the guard behind this region of the workspace was written"});
  }
}

std::int64_t rank_runner::nanoseconds_since_start() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - phase_start_).count();
}

}  // namespace switchyard::harness
