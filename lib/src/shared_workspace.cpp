// SPDX-License-Identifier: Apache-2.0
#include "shared_workspace.hpp"

#include <utility>

#include "describe_fault.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {

void shared_workspace::begin_step(std::uint32_t instance) {
  auto found = no_step;
  if (step_.compare_exchange_strong(found, step_of(instance), std::memory_order_acq_rel)) return;
  if (found == step_of(instance)) throw state_error("dispatch: the previous step's combine is due");
  if (found == abandoned) {
    throw state_error("dispatch: an instance that shared the workspace was destroyed within a step: recover() first");
  }
  throw state_error("dispatch: another instance that shares the workspace is within a step, its combine is due");
}

void shared_workspace::require_step(std::string_view call, std::uint32_t instance) const {
  if (is_step_of(instance)) return;
  throw state_error(std::string(call) + ": no step of this instance is in flight");
}

bool shared_workspace::is_step_of(std::uint32_t instance) const noexcept {
  return step_.load(std::memory_order_acquire) == step_of(instance);
}

bool shared_workspace::in_step() const noexcept { return step_.load(std::memory_order_acquire) != no_step; }

void shared_workspace::abandon_step(std::uint32_t instance) noexcept {
  auto mine = step_of(instance);
  step_.compare_exchange_strong(mine, abandoned, std::memory_order_acq_rel);
}

workspace_life shared_workspace::life() const {
  const std::lock_guard lock(mutex_);
  return life_;
}

void shared_workspace::require_usable(std::string_view call) const {
  const std::lock_guard lock(mutex_);
  refuse_use(call);
}

void shared_workspace::refuse_use(std::string_view call) const {
  switch (life_) {
    case workspace_life::usable: return;
    case workspace_life::leaving:
      throw state_error(std::string(call) + ": checkpoint_prepare() or checkpoint_restore() is under way");
    case workspace_life::prepared:
      throw state_error(std::string(call) + ": the workspace has no memory after checkpoint_prepare(), " +
                        "checkpoint_restore() first");
    case workspace_life::lost: break;
  }
  throw state_error(std::string(call) + ": the workspace is lost for good, destroy() its instances: " + why_lost_);
}

void shared_workspace::require_sound() const {
  const auto fault = workspace_->fault();
  if (!fault) return;
  auto message = "the workspace is poisoned: " + describe(*fault);
  const auto reason = abort_reason();
  if (fault->code == fault_code::aborted && !reason.empty()) message += " (" + reason + ")";
  throw peer_fault(message, *fault);
}

void shared_workspace::begin_change(std::string_view call) {
  const std::lock_guard lock(mutex_);
  if (life_ != workspace_life::prepared) refuse_use(call);
  life_ = workspace_life::leaving;
}

void shared_workspace::end_change(workspace_life now, std::string why) {
  const std::lock_guard lock(mutex_);
  life_ = now;
  why_lost_ = std::move(why);
}

void shared_workspace::abort(std::string_view reason) {
  // Held meanwhile: the notices go to peers' memory, which is there for as long as no rank can begin to take it away.
  const std::lock_guard lock(mutex_);
  refuse_use("abort");
  workspace_->abort();  // first of all: peers are waiting
  if (abort_reason_.empty()) abort_reason_ = reason;
}

std::string shared_workspace::abort_reason() const {
  const std::lock_guard lock(mutex_);
  return abort_reason_;
}

void shared_workspace::forget_abort() {
  const std::lock_guard lock(mutex_);
  abort_reason_.clear();
}

workspace_registry& workspace_registry::of_process() {
  static auto* const all = new workspace_registry;
  return *all;
}

std::shared_ptr<shared_workspace> workspace_registry::find(const workspace_key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = workspaces_.find(key);
  return found == workspaces_.end() ? nullptr : found->second.lock();
}

std::uint32_t workspace_registry::next_number(const std::shared_ptr<shared_workspace>& workspace) {
  if (!workspace) return 0;
  const std::lock_guard lock(mutex_);
  return workspace->num_made_;
}

std::uint32_t workspace_registry::enter(const std::shared_ptr<shared_workspace>& workspace) {
  const std::lock_guard lock(mutex_);
  workspaces_[workspace->key()] = workspace;
  ++workspace->num_left_;
  return workspace->num_made_++;
}

void workspace_registry::leave(const std::shared_ptr<shared_workspace>& workspace) noexcept {
  const std::lock_guard lock(mutex_);
  if (--workspace->num_left_ == 0) workspaces_.erase(workspace->key());
}

void workspace_registry::rename(const std::shared_ptr<shared_workspace>& workspace, const group_id& group) {
  const std::lock_guard lock(mutex_);
  auto key = workspace->key_;
  key.group = group;
  if (workspaces_.contains(key)) return;  // another one, which is found as it was
  auto entry = workspaces_.extract(workspace->key_);
  workspace->key_ = entry.key() = key;
  workspaces_.insert(std::move(entry));
}

}  // namespace switchyard
