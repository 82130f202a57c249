// SPDX-License-Identifier: Apache-2.0
// A rank's thread: construction, the sequence of steps, and leaving without holding anyone up.
#include "rank_runner.hpp"

#include <exception>
#include <thread>

#include "switchyard/harness/case_layers.hpp"
#include "switchyard/harness/declared_step.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {

rank_runner::rank_runner(case_state& state, int rank)
    : state_(state),
      spec_(state.spec),
      rank_(rank),
      outcome_(state.outcome(rank)),
      verifier_(state.spec, rank, state.rows) {}

void rank_runner::run() {
  try {
    device_ = state_.devices.empty() ? make_host_device(spec_, state_.memory)
                                     : std::move(state_.devices[static_cast<std::size_t>(rank_)]);
    device_->bind_thread();
  } catch (const std::exception& failure) {
    outcome_.error = std::string("stream: ") + failure.what();
  }
  // Together, so that nobody's deadline runs while others are still being started.
  const bool all_started = state_.group->meet(meeting_point::before_construction, rank_, outcome_.error.empty());
  try {
    if (all_started) {
      construct();
      fill_guards();
    }
  } catch (const unsupported& failure) {
    outcome_.unsupported = true;
    outcome_.error = std::string("construction: ") + failure.what();
  } catch (const std::exception& failure) {
    outcome_.error = std::string("construction: ") + failure.what();
  }
  const bool made = here_.exchange != nullptr && outcome_.error.empty();
  // No rank may write to a peer before that peer's guards are filled, or an overrun would be painted over.
  if (state_.group->meet(meeting_point::after_construction, rank_, made)) {
    std::string error;
    try {
      if (spec_.lacks == lacking_room::nothing) {
        run_steps();
      } else {
        run_refused();
      }
    } catch (const peer_fault& fault) {
      // The record is taken from status(); a fault without a record is an error of its own.
      if (!here_.exchange->status()) error = fault.what();
    } catch (const std::exception& failure) {
      error = failure.what();
      abort_quietly(*here_.exchange, error);
    }
    // Nobody is held up by a rank that has not come there.
    state_.group->call_off(meeting_point::before_recovery);
    state_.group->call_off(meeting_point::after_recovery);
    try {
      device_->synchronize();
      if (outcome_.steps_ended == spec_.steps && !exited_ && !is_beside(spec_, spec_.steps - 1)) read_arrivals();
    } catch (const std::exception& failure) {
      if (error.empty()) error = failure.what();
    }
    if (outcome_.error.empty()) outcome_.error = error;  // only now: until here the stream's tasks may write it
    note_fault();
    outcome_.checked_bytes += verifier_.checked_bytes();
    outcome_.results_digest = verifier_.results_digest();
    outcome_.low_precision_error = verifier_.low_precision_error();
  }
  state_.ring.leave(rank_);
  outcome_.position.store(after_all, std::memory_order_relaxed);
  state_.progress.fetch_add(1, std::memory_order_relaxed);
  (void)state_.group->meet(meeting_point::after_steps, rank_, true);  // then all writing has ended
  try {
    if (!exited_) check_guards();
  } catch (const std::exception& failure) {
    if (outcome_.error.empty()) outcome_.error = std::string("guards: ") + failure.what();
  }
  say_live(nullptr);
  // On some ranks from the first to the last, on others the other way: any of them may be the one that frees.
  if (rank_ % 2 == 0) here_.exchange.reset();
  while (!here_.further_layers.empty()) here_.further_layers.pop_back();
  here_.exchange.reset();
  layers_workspace_ = {};  // of a rank that did not come back
  device_.reset();
}

bootstrap rank_runner::make_bootstrap() {
  bootstrap boot;
  boot.rank = rank_;
  boot.ep_size = spec_.ep_size;
  boot.comm_backend = state_.group->backend(rank_);
  device_->describe(boot);
  boot.processes_may_share_gpu = state_.group->of_processes();
  boot.first_epoch = spec_.first_epoch;
  boot.custom_fabric = state_.options.make_fabric ? state_.options.make_fabric(rank_) : erring_fabric(boot.kind);
  return boot;
}

void rank_runner::meet() { state_.group->backend(rank_)->barrier(state_.config.warmup_timeout); }

void rank_runner::say_live(one_sided_all_to_all* end) {
  const std::lock_guard lock(state_.mutex);
  state_.live[static_cast<std::size_t>(rank_)] = end;
}

void rank_runner::construct() {
  auto boot = make_bootstrap();
  // The arena cannot be asked for the same addresses again, and would keep what a checkpoint is to give back.
  // Processes share segments of their own.
  if (spec_.checkpoint_every > 0 || state_.group->of_processes()) boot.host_memory = nullptr;
  make_layers(boot);
  device_->upload(expert_output_buffer, state_.expert_outputs[static_cast<std::size_t>(rank_)]);
  if (spec_.launch != launch_mode::eager) capture_steps();
  say_live(here_.exchange.get());
}

void rank_runner::fill_guards() {
  here_.guards = workspace_guards(here_.data, here_.regions, here_.bytes);
  here_.guards.fill(
      [this](std::byte* to, std::span<const std::byte> bytes) { device_->write(to, bytes.data(), bytes.size()); });
  device_->synchronize();  // peers store as soon as they know of it
}

void rank_runner::run_steps() {
  if (!spec_.recovers && !spec_.rejoin_step) return run_steps(0, spec_.steps);
  const int behind = spec_.recovers ? step_behind(*spec_.inject) : *spec_.rejoin_step;
  try {
    run_steps(0, behind);
  } catch (const peer_fault&) {  // NOLINT(bugprone-empty-catch): it was told before it could make its call
  }
  if (recover(behind)) run_steps(behind, spec_.steps);
}

void rank_runner::run_steps(int first, int last) {
  for (int step = first; step < last; ++step) {
    if (!come_to(step)) return;
    const bool beside = is_beside(spec_, step);
    if (beside && !go_beside()) return;
    if (set_mask(step) && !run_step(step)) return;
    if (beside && !come_back()) return;
  }
}

bool rank_runner::enqueue_step(int step) {
  if (ends_at(step, phase::dispatch)) {
    end_as_injected(*spec_.inject);
    return false;
  }
  const step_inputs* inputs = state_.ring.acquire(step);
  if (inputs == nullptr) return false;
  const step_plan& plan = inputs->plan();
  const auto declared = declared_by(spec_, plan, rank_);

  auto& exchange = layer(declared.layer);
  const auto given = arguments(*inputs);
  enqueue_delay(step, phase::dispatch);
  enqueue_start(step, phase::dispatch);
  dispatch_result views;
  const auto options = options_for(declared, inputs->statistics(rank_));
  call_phase(step, phase::dispatch, [&] { views = exchange.dispatch(given, options, device_->stream()); });
  note_transport(views.transport);
  const bool has_rows = !skips(step, phase::dispatch);
  if (has_rows) enqueue([this, inputs, views] { end_of_dispatch(*inputs, views); });
  if (ends_at(step, phase::combine)) {
    end_as_injected(*spec_.inject);
    return false;
  }

  std::byte* expert_rows =
      plan.source == combine_source::workspace_rows
          ? exchange.combine_input_buffer(declared.combine_dtype).data
          : device_->address_of(expert_output_buffer, state_.expert_outputs[static_cast<std::size_t>(rank_)]);
  const auto& output = state_.outputs[static_cast<std::size_t>(rank_)];
  const auto count = plan.num_tokens[static_cast<std::size_t>(rank_)];
  enqueue([this, inputs, views, expert_rows, has_rows] {
    if (!faulted_ && has_rows) {
      compute_experts(*inputs, readable_views_, expert_rows);
      poison_views(*inputs, views);
    }
    poison_output(*inputs);
  });
  enqueue_delay(step, phase::combine);
  enqueue_start(step, phase::combine);
  auto* output_data = count > 0 ? device_->address_of(output_buffer, output) : nullptr;
  call_phase(step, phase::combine, [&] {
    exchange.combine({expert_rows, declared.combine_hidden_size, declared.combine_dtype}, {output_data, count},
                     device_->stream());
  });
  enqueue([this, inputs, summed = !skips(step, phase::combine)] {
    if (summed) return end_of_combine(*inputs);
    state_.ring.finish(rank_, inputs->step());
  });
  return true;
}

// The sleep is a task of the stream and not of this thread, which may be steps ahead of the stream: slept there, it
// would delay nothing.
void rank_runner::enqueue_delay(int step, phase which) {
  const auto length = delay_before(step, which);
  if (length.count() == 0) return;
  enqueue([this, length] {
    if (!faulted_) state_.pause(length);
  });
}

void rank_runner::enqueue_start(int step, phase which) {
  enqueue([this, position = 2 * step + static_cast<int>(which)] {
    outcome_.position.store(position, std::memory_order_relaxed);
    phase_start_ = std::chrono::steady_clock::now();
  });
}

void rank_runner::note_transport(transport taken) {
  taken_.at(static_cast<std::size_t>(taken)) = true;
  outcome_.transport.clear();
  for (const auto each : {transport::fence, transport::lamport}) {
    if (!taken_.at(static_cast<std::size_t>(each))) continue;
    outcome_.transport += (outcome_.transport.empty() ? "" : "+") + std::string(to_string(each));
  }
}

void rank_runner::enqueue(std::function<void()> task) {
  device_->enqueue([this, task = std::move(task)] {
    try {
      task();
    } catch (const std::exception& failure) {
      if (outcome_.error.empty()) outcome_.error = std::string("check: ") + failure.what();
    }
    state_.progress.fetch_add(1, std::memory_order_relaxed);
  });
}

void rank_runner::check_guards() {
  const auto read = [this](std::span<std::byte> into, const std::byte* from) {
    device_->read(into.data(), from, into.size());
  };
  for (const auto& broken : here_.guards.check(read)) {
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
