// SPDX-License-Identifier: Apache-2.0
// What the one rank that errs does otherwise; what others make of it is judged in fault_judgement.cpp.
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "injection/faulty_fabric.hpp"
#include "rank_runner.hpp"
#include "switchyard/harness/case_result.hpp"
#include "switchyard/harness/rank_masks.hpp"

namespace switchyard::harness {

namespace {

/// The process of a rank, with all that it has.
[[noreturn]] void end_process(fault_kind how) {
  if (how == fault_kind::vanish) ::_exit(0);
  if (how == fault_kind::kill) (void)::kill(::getpid(), SIGKILL);
  while (true) {  // whoever lets it go on does not get it back
    (void)::kill(::getpid(), SIGSTOP);
  }
}

}  // namespace

const injected_fault* rank_runner::injected_at(int step, phase which) const {
  const auto& fault = spec_.inject;
  return fault && fault->rank == rank_ && fault->step == step && fault->phase == which ? &*fault : nullptr;
}

bool rank_runner::ends_at(int step, phase which) const {
  const auto* fault = injected_at(step, which);
  return fault != nullptr && fault->ends_rank();
}

bool rank_runner::skips(int step, phase which) const {
  const auto* fault = injected_at(step, which);
  return fault != nullptr && fault->kind == fault_kind::skip;
}

// Behind what the stream has been given, so that the rank ends where the case says and not some phases earlier.
void rank_runner::end_as_injected(const injected_fault& fault) {
  if (fault.kind == fault_kind::stop) return;
  device_->synchronize();
  if (fault.kind == fault_kind::abort) return here_.exchange->abort("the case asks for it");
  if (fault.ends_process()) end_process(fault.kind);
  say_live(nullptr);
  exited_ = true;
  here_.exchange->destroy();
}

std::shared_ptr<fabric> rank_runner::erring_fabric(fabric_kind kind) {
  const auto& fault = spec_.inject;
  if (!fault || fault->rank != rank_) return nullptr;
  std::optional<injection::wrong_header> header;
  if (fault->kind == fault_kind::corrupt || fault->kind == fault_kind::misdirect) {
    const auto change =
        fault->kind == fault_kind::corrupt ? injection::header_change::bits : injection::header_change::other_slot;
    header = injection::wrong_header{static_cast<std::uint64_t>(fault->step), fault->phase, change, fault->field};
  } else if (fault->kind != fault_kind::skip && spoiled_bits(spec_) == rank_set{}) {
    return nullptr;
  }
  launches_ = std::make_shared<injection::launch_switch>();
  return injection::make_faulty_fabric(kind, launches_, header);
}

void rank_runner::call_phase(int step, phase which, const std::function<void()>& call) {
  if (!skips(step, which) || launches_ == nullptr) return call();
  launches_->leave_out(true);
  call();
  launches_->leave_out(false);
}

std::chrono::microseconds rank_runner::delay_before(int step, phase which) const {
  const delay drawn = make_delay(spec_, state_.options.seed, step, which);
  const auto usual = drawn.rank == rank_ ? drawn.length : std::chrono::microseconds(0);
  const auto* fault = injected_at(step, which);
  if (fault == nullptr || fault->kind != fault_kind::late) return usual;
  return std::max<std::chrono::microseconds>(usual, fault->late);
}

bool rank_runner::set_mask(int step) {
  if (!spec_.enable_rank_mask) return true;
  if (!contains(active_ranks_of(spec_, step), rank_)) {
    enqueue([this, step] {
      if (!faulted_) outcome_.steps_ended = step + 1;
      state_.ring.finish(rank_, step);
    });
    return false;
  }
  const auto mask = declared_mask(spec_, rank_, step);
  const bool errs = injected_at(step, phase::dispatch) != nullptr && spoiled_bits(spec_) != rank_set{};
  if (here_.mask == mask && !errs) return true;
  here_.mask = errs ? std::nullopt : std::optional(mask);
  if (errs && launches_) launches_->spoil_masks(spoiled_bits(spec_));
  here_.exchange->set_active_ranks(mask, device_->stream());
  if (errs && launches_) launches_->spoil_masks({});
  return true;
}

bool rank_runner::recover(int behind) {
  device_->synchronize();
  outcome_.fault = here_.exchange->status();
  outcome_.steps_before_fault = outcome_.steps_ended;
  // A rank that has stopped would abort its peers, which are to find out by themselves.
  if (!state_.group->meet(meeting_point::before_recovery, rank_, true)) return false;
  if (!is_left_out()) {
    check_guards();  // the workspace may get other memory
    here_.exchange->recover(*state_.group->backend(rank_), active_ranks_of(spec_, behind));
    fill_guards();
  }
  // Inputs of the steps that were lost are not needed any more; what the fault left in the views is poisoned anew.
  state_.ring.finish(rank_, behind - 1);
  here_.mask = active_ranks_of(spec_, behind);  // recover() has set it, and what it has set is to be seen
  faulted_ = false;
  forget_views();
  device_->synchronize();
  // No peer may store before the guards are filled and the views poisoned.
  return state_.group->meet(meeting_point::after_recovery, rank_, true);
}

bool rank_runner::is_left_out() const { return spec_.leaves_out && spec_.inject && spec_.inject->rank == rank_; }

void rank_runner::note_fault() {
  if (exited_) return;
  if (is_left_out() && outcome_.steps_before_fault) return;  // its workspace is as the others left it
  const auto fault = here_.exchange->status();
  if (!outcome_.steps_before_fault) {
    outcome_.fault = fault;
  } else if (fault && outcome_.error.empty()) {
    outcome_.error = "a fault after recover(): " + describe(*fault);
  }
}

void rank_runner::read_arrivals() {
  const auto region = std::ranges::find(here_.regions, "arrivals", &workspace_region::name);
  const auto ranks = static_cast<std::size_t>(spec_.ep_size);
  if (region == here_.regions.end() || region->bytes != 2 * ranks * sizeof(std::uint64_t)) {
    outcome_.error = "the workspace has no region of arrivals";
    return;
  }
  std::vector<std::uint64_t> words(2 * ranks);
  device_->read(reinterpret_cast<std::byte*>(words.data()), here_.data + region->offset, region->bytes);
  for (std::size_t which = 0; which < 2; ++which) {
    auto& lanes = outcome_.arrivals_ns.emplace_back();
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      const auto word = words[which * ranks + peer];
      // The header of every peer that takes part has been waited for in the same phase, as has this rank's own.
      const auto own = words[which * ranks + static_cast<std::size_t>(rank_)];
      const bool fresh = word >> 32 == own >> 32 && word != 0;
      lanes.push_back(fresh ? static_cast<std::uint32_t>(word) : not_arrived);
    }
  }
}

}  // namespace switchyard::harness
