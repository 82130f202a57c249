// SPDX-License-Identifier: Apache-2.0
#include "shared_workspace.hpp"

#include <new>
#include <utility>

#include "describe_fault.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {

void shared_workspace::begin_step(std::uint32_t instance) {
  auto found = no_step;
  if (step_.compare_exchange_strong(found, step_of(instance), std::memory_order_acq_rel)) return;
  if (found == step_of(instance)) throw state_error("dispatch: the previous step's combine is due");
  if (found == abandoned) throw state_error("dispatch: " + open_step());
  throw state_error("dispatch: another instance that shares the workspace is within a step, its combine is due");
}

void shared_workspace::require_step(std::string_view call, std::uint32_t instance) const {
  if (step_.load(std::memory_order_acquire) == step_of(instance)) return;
  throw state_error(std::string(call) + ": no step of this instance is in flight");
}

std::string shared_workspace::open_step() const {
  const auto found = step_.load(std::memory_order_acquire);
  if (found == no_step) return {};
  if (found == abandoned) return "an instance that shared the workspace was destroyed within a step: recover() first";
  return "a step is in flight, its combine is due";
}

std::unique_lock<std::mutex> shared_workspace::enter(std::string_view call) {
  std::unique_lock inside(calls_);
  require_usable(call);
  return inside;
}

void shared_workspace::require_usable(std::string_view call) const {
  const std::lock_guard lock(mutex_);
  refuse_use(call);
}

void shared_workspace::refuse_use(std::string_view call) const {
  switch (life_) {
    case workspace_life::usable:
    case workspace_life::refusing: return;
    case workspace_life::recovering: throw state_error(std::string(call) + ": recover() is under way");
    case workspace_life::gathering:
    case workspace_life::leaving:
      throw state_error(std::string(call) + ": checkpoint_prepare() or checkpoint_restore() is under way");
    case workspace_life::prepared:
      throw state_error(std::string(call) + ": the workspace has no memory after checkpoint_prepare(), " +
                        "checkpoint_restore() first");
    case workspace_life::lost: break;
  }
  throw state_error(std::string(call) + ": the workspace is lost for good, destroy() its instances: " + why_lost_);
}

void shared_workspace::refuse_change(std::string_view call) const {
  refuse_use(call);
  if (life_ == workspace_life::refusing) throw state_error(std::string(call) + ": checkpoint_prepare() is under way");
}

void shared_workspace::require_sound() const {
  const auto fault = workspace_->fault();
  if (!fault) return;
  auto message = "the workspace is poisoned: " + describe(*fault);
  const auto reason = abort_reason();
  if (fault->code == fault_code::aborted && !reason.empty()) message += " (" + reason + ")";
  throw peer_fault(message, *fault);
}

std::optional<std::string> shared_workspace::begin_to_prepare() {
  const std::lock_guard inside(calls_);
  const std::lock_guard lock(mutex_);
  if (life_ == workspace_life::prepared) return std::nullopt;
  refuse_change("checkpoint_prepare");
  auto open = open_step();
  life_ = open.empty() ? workspace_life::gathering : workspace_life::refusing;
  return open;
}

bool shared_workspace::begin_to_restore() {
  const std::lock_guard lock(mutex_);
  if (life_ == workspace_life::usable) return false;
  if (life_ != workspace_life::prepared) refuse_change("checkpoint_restore");
  life_ = workspace_life::leaving;
  return true;
}

void shared_workspace::begin_to_recover() {
  const std::lock_guard lock(mutex_);
  refuse_change("recover");
  life_ = workspace_life::recovering;
}

void shared_workspace::await_calls() { const std::lock_guard lock(calls_); }

void shared_workspace::shut() {
  require_sound();  // with its reason, for the usual case
  const std::lock_guard lock(mutex_);
  if (workspace_->fault()) throw state_error("the workspace has just been poisoned");
  life_ = workspace_life::leaving;
}

void shared_workspace::end_change(workspace_life now) noexcept {
  const std::lock_guard lock(mutex_);
  life_ = now;
}

void shared_workspace::end_for_good(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  life_ = workspace_life::lost;
  try {
    why_lost_ = why;
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it is lost all the same
  }
}

void shared_workspace::abort(std::string_view reason) {
  // Held meanwhile: the notices go to peers' memory, which is there for as long as no rank can begin to take it away.
  const std::lock_guard lock(mutex_);
  if (life_ != workspace_life::recovering && life_ != workspace_life::gathering) refuse_use("abort");
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

void shared_workspace::let_go_of(std::uint32_t instance) noexcept {
  auto mine = step_of(instance);
  step_.compare_exchange_strong(mine, abandoned, std::memory_order_acq_rel);
  const std::lock_guard lock(calls_);
  if (last_caller_ == instance) {  // its stream may end now
    workspace_->forget_stream();
    last_caller_.reset();
  }
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
  if (--workspace->num_left_ > 0) return;
  const auto entry = workspaces_.find(workspace->key_);
  if (entry != workspaces_.end() && entry->second.lock() == workspace) workspaces_.erase(entry);
}

void workspace_registry::rename(const std::shared_ptr<shared_workspace>& workspace, const group_id& group) {
  const std::lock_guard lock(mutex_);
  auto key = workspace->key_;
  key.group = group;
  const auto entry = workspaces_.find(workspace->key_);
  // Where the last instance has gone meanwhile, or another workspace has that name, it stays as it is.
  if (entry == workspaces_.end() || workspaces_.contains(key)) return;
  auto node = workspaces_.extract(entry);
  workspace->key_ = node.key() = key;
  workspaces_.insert(std::move(node));
}

}  // namespace switchyard
