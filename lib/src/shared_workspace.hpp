// SPDX-License-Identifier: Apache-2.0
// The workspace that instances of one rank share when their group and layout are equal: who is in a step on it, who
// still has it, and whether its memory is there. Decision 018.
#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fabric/fabric.hpp"
#include "switchyard/comm_backend.hpp"

namespace switchyard {

/// What instances must have in common to share a workspace; all of it is in the workspace or says where it is.
struct workspace_key {
  switchyard::group_id group{};
  rank_set members{};  ///< as the group names them: a part of it has its id
  int rank = 0;
  int ep_size = 1;
  fabric_kind kind = fabric_kind::host;
  const switchyard::fabric* custom_fabric = nullptr;
  int device = 0;
  layout::extents dims;
  std::uint64_t timeout_ns = 0;
  std::uint64_t warmup_timeout_ns = 0;
  choice enable_pdl = choice::automatic;
  std::uint32_t first_epoch = 1;
  const std::pmr::memory_resource* host_memory = nullptr;

  friend auto operator<=>(const workspace_key&, const workspace_key&) = default;
};

/// What may be done with a workspace. Only prepared ones come back from being without memory.
enum class workspace_life : std::uint8_t {
  usable,
  recovering,  ///< recover() is under way
  refusing,    ///< checkpoint_prepare() waits to tell others that a step is open, which goes on
  gathering,   ///< on its way to prepared, waiting for others; may still be aborted
  leaving,     ///< between having memory and having none, in either direction
  prepared,    ///< its addresses have no memory, by checkpoint_prepare()
  lost,        ///< for good: what took its memory away, or gave it back, has failed half-way
};

class shared_workspace {
 public:
  shared_workspace(const workspace_key& key, std::shared_ptr<switchyard::fabric> fabric,
                   std::unique_ptr<fabric_workspace> workspace)
      : key_(key), fabric_(std::move(fabric)), workspace_(std::move(workspace)) {}

  [[nodiscard]] fabric_workspace& operator*() const noexcept { return *workspace_; }
  [[nodiscard]] fabric_workspace* operator->() const noexcept { return workspace_.get(); }
  [[nodiscard]] switchyard::fabric& fabric() const noexcept { return *fabric_; }
  [[nodiscard]] const workspace_key& key() const noexcept { return key_; }

  // Steps. Instances have numbers from 0 in the order in which they were made. Instances of one rank may be used by
  // different threads, so that two may want to begin at the same time.

  /// The step is `instance`'s from now on. Throws state_error when there is one already, its own or another's.
  /// Within enter(), as all that changes the step.
  void begin_step(std::uint32_t instance);
  /// Throws state_error unless the step is `instance`'s. `call`: what wants it, for the message.
  void require_step(std::string_view call, std::uint32_t instance) const;
  /// Whoever's it was: there is no step any more.
  void end_step() noexcept { step_.store(no_step, std::memory_order_release); }

  // Its life. Calls that enqueue and changes of life keep out of one another; abort() waits for neither.

  /// To be held by a call that enqueues, for its length. Throws state_error unless the workspace is usable.
  [[nodiscard]] std::unique_lock<std::mutex> enter(std::string_view call);
  /// Within enter(): the stream that the fabric knows is that of `instance` now.
  void has_called(std::uint32_t instance) noexcept { last_caller_ = instance; }
  /// Throws state_error unless it is usable.
  void require_usable(std::string_view call) const;
  /// Throws peer_fault with the workspace's fault, if it has one.
  void require_sound() const;

  /// checkpoint_prepare()'s: from usable to gathering, but where a step is open, whose combine is not to be refused
  /// while others are waited for, to refusing: returns what to say of that, else nothing to say. Null where it is
  /// prepared already. Waits for calls that are inside. Throws state_error from elsewhere.
  [[nodiscard]] std::optional<std::string> begin_to_prepare();
  /// checkpoint_restore()'s: from prepared to leaving. False where it is usable. Throws state_error from elsewhere.
  [[nodiscard]] bool begin_to_restore();
  /// recover()'s: from usable to recovering. Throws state_error from elsewhere. No call enters from then on; those that
  /// are inside may hang in a full queue of the device until somebody aborts.
  void begin_to_recover();
  void await_calls();
  /// From gathering to leaving, unless there is a fault, which is thrown: abort() is refused from then on.
  void shut();
  void end_change(workspace_life now) noexcept;
  void end_for_good(const std::string& why) noexcept;

  /// abort(), for messages `reason`. Throws state_error while the workspace has no memory that could be aborted.
  void abort(std::string_view reason);
  [[nodiscard]] std::string abort_reason() const;
  void forget_abort();

  /// Of an instance that goes: what it left behind is forgotten, but for its step, if it was within one.
  void let_go_of(std::uint32_t instance) noexcept;

  /// How this rank meets the others for a checkpoint. Null while prepared: then its connections may be closed.
  std::shared_ptr<comm_backend> backend;
  resting_state prepared_at;  ///< where it stood when its memory went

 private:
  friend class workspace_registry;
  static constexpr std::uint64_t no_step = 0;
  static constexpr std::uint64_t abandoned = ~std::uint64_t{0};
  [[nodiscard]] static std::uint64_t step_of(std::uint32_t instance) { return std::uint64_t{instance} + 1; }
  /// Why there can be no other step now; empty: there can.
  [[nodiscard]] std::string open_step() const;
  // Under mutex_; throw state_error where a call, or a change of life, may not begin.
  void refuse_use(std::string_view call) const;
  void refuse_change(std::string_view call) const;

  workspace_key key_;
  std::shared_ptr<switchyard::fabric> fabric_;
  std::unique_ptr<fabric_workspace> workspace_;
  std::atomic<std::uint64_t> step_{no_step};
  std::optional<std::uint32_t> last_caller_;  ///< whose stream the fabric knows

  std::mutex calls_;          // of calls that enqueue, and of last_caller_
  mutable std::mutex mutex_;  // of what follows
  workspace_life life_ = workspace_life::usable;
  std::string why_lost_;
  std::string abort_reason_;

  std::uint32_t num_made_ = 0;  ///< instances so far; the registry's, as is the next
  std::uint32_t num_left_ = 0;  ///< that still have it
};

/// The workspaces of this process that instances have. Thread-safe.
class workspace_registry {
 public:
  /// Never destroyed: instances may outlive what is destroyed when the process ends.
  static workspace_registry& of_process();

  /// The one of `key`, or null.
  std::shared_ptr<shared_workspace> find(const workspace_key& key);
  /// How many instances have been made on it: the next one's number. 0 for null.
  [[nodiscard]] std::uint32_t next_number(const std::shared_ptr<shared_workspace>& workspace);
  /// Counts another instance, for leave() to discount, and lets find() find the workspace. Returns its number.
  std::uint32_t enter(const std::shared_ptr<shared_workspace>& workspace);
  /// Of an instance that has entered. Whoever leaves last takes the workspace out of here.
  void leave(const std::shared_ptr<shared_workspace>& workspace) noexcept;
  /// Lets find() find the workspace as one of `group`.
  void rename(const std::shared_ptr<shared_workspace>& workspace, const group_id& group);

 private:
  workspace_registry() = default;

  std::mutex mutex_;
  std::map<workspace_key, std::weak_ptr<shared_workspace>> workspaces_;
};

}  // namespace switchyard
