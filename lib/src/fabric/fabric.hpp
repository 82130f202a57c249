// SPDX-License-Identifier: Apache-2.0
// The seam between the class and the machines: what a fabric offers to one rank.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "layout/workspace_layout.hpp"
#include "protocol/params.hpp"
#include "switchyard/config.hpp"
#include "switchyard/spec/errors.hpp"
#include "switchyard/stream.hpp"
#include "switchyard/support.hpp"

namespace switchyard {

class rank_meeting;

/// How the phases of a step are cut for a machine; policy in one place, testable without one.
struct phase_plan {
  int num_blocks = 1;
  int block_threads = 1;
  /// A power of two. Tokens of dispatch that one role sends, each rank's own matter; rows of combine under one flag,
  /// equal on all ranks, hence a function of the layout and T only. Lamport phases have no use for it.
  std::uint64_t chunk_tokens = 1;
};
struct launch_plan {
  phase_plan dispatch;
  phase_plan combine;
  bool routes_all = false;  ///< of dispatch: every block routes all tokens at once
  // Of combine, each rank's own matter:
  std::uint64_t reduce_tokens = 1;  ///< that a block sums at a time, a power of two
  int senders = 1;                  ///< blocks that go on sending until all is sent, while the others sum; >= 1
};

/// What a plan is made for.
struct planned_step {
  std::uint64_t tokens_per_rank = 1;  ///< T
  switchyard::transport transport = switchyard::transport::fence;
  int max_blocks = 0;  ///< 0: no further bound
};

/// Where the phases of a workspace stand.
struct round_position {
  std::uint32_t epoch = 1;        ///< of the phase that is due
  std::uint32_t incarnation = 1;  ///< of the workspace
};

/// A workspace on which nothing runs.
struct resting_state {
  round_position at;
  phase due = phase::dispatch;
  rank_set active{};  ///< who takes part from the next dispatch on
};

/// What a workspace begins its next life with.
struct fresh_start {
  round_position at;
  rank_set active{};  ///< who takes part
};

/// A workspace on its way through recover(), in this order (recovery.cpp), or, where it gives its memory back between,
/// through a checkpoint (checkpoint.cpp).
class recoverable {
 public:
  /// Waits for this rank's launches to end, and for what else the stream of the last one has been given, for no longer
  /// than `timeout`; whether all has ended.
  [[nodiscard]] virtual bool drain_for(std::chrono::nanoseconds timeout) = 0;
  /// Precondition: drained.
  [[nodiscard]] virtual round_position position() const = 0;
  /// Precondition: drained.
  [[nodiscard]] virtual resting_state rest() const = 0;
  /// Gives back what memory is behind the workspace's addresses, here and of what this rank has mapped of its peers'.
  /// The addresses stay, and have memory again after restart(). Idempotent. Throws cuda_error; then some may be left.
  /// Precondition: no launch of any rank runs, and none is made.
  virtual void release_memory() = 0;
  /// Sees to it that ranks which are left out store nothing any more into what restart() leaves, whatever they do;
  /// waits for what they are doing for no longer than `timeout`. Returns those of which it could not.
  [[nodiscard]] virtual rank_set keep_out(const rank_set& left_out, std::chrono::nanoseconds timeout) = 0;
  /// Makes the workspace as it was when it was opened, but for where it begins and who takes part, and but for the
  /// fault, which stays: launches still do nothing. Collective over the ranks of the meeting, which are those of
  /// `start`: no launch of any of them runs. On failure every rank throws, and its workspace is as poisoned as before.
  virtual void restart(const fresh_start& start, const rank_meeting& meeting) = 0;
  /// Ends the fault, or throws when that takes longer than `timeout`. Precondition: every rank has restarted.
  virtual void open_again(std::chrono::nanoseconds timeout) = 0;

 protected:
  recoverable() = default;
  ~recoverable() = default;
  recoverable(const recoverable&) = default;
  recoverable& operator=(const recoverable&) = default;
};

/// One rank's workspace on a fabric.
class fabric_workspace {
 public:
  virtual ~fabric_workspace() = default;

  [[nodiscard]] virtual std::byte* data() const noexcept = 0;
  /// Collective: exchanges windows with the peers, so that launches may address them.
  virtual void connect(comm_backend& backend, std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual launch_plan plan(const planned_step& step, stream_ref stream) const = 0;
  /// Enqueues a phase. The fabric fills in params.ws but for its layout, rank and size.
  virtual void launch(const protocol::dispatch_params& params, const phase_plan& plan, stream_ref stream) = 0;
  virtual void launch(const protocol::combine_params& params, const phase_plan& plan, stream_ref stream) = 0;
  /// Enqueues a store of the mask of the dispatches behind it.
  virtual void set_active_ranks(const rank_set& /*mask*/, stream_ref /*stream*/) {
    throw unsupported("set_active_ranks: this fabric has no rank masks");
  }
  [[nodiscard]] virtual std::optional<recorded_fault> fault() const = 0;
  /// Records `aborted` unless there is a fault already, poisons, tells the peers. Thread-safe.
  virtual void abort() = 0;
  /// Waits for this rank's launches to end.
  virtual void drain() noexcept = 0;
  /// The stream of the last call may end: drain_for() has nothing to wait for there.
  virtual void forget_stream() noexcept {}

  /// What recover() asks of it; throws unsupported where a fabric cannot.
  [[nodiscard]] virtual recoverable& recovery() { throw unsupported("recover: this fabric cannot"); }
};

struct workspace_request {
  int rank = 0;
  int ep_size = 1;
  int device = 0;
  layout::workspace_layout layout;
  std::uint64_t timeout_ns = 0;
  std::uint64_t warmup_timeout_ns = 0;
  std::uint32_t first_epoch = 1;
  choice enable_pdl = choice::automatic;
  bool processes_may_share_gpu = false;
  std::pmr::memory_resource* host_memory = nullptr;
};

class fabric {
 public:
  virtual ~fabric() = default;
  [[nodiscard]] virtual support available(int device) const = 0;
  /// Whether a stream of this kind can be used with the fabric.
  [[nodiscard]] virtual fabric_kind stream_kind() const = 0;
  /// Local: prepares a workspace; its memory is there at the latest after connect(). Throws out_of_memory.
  virtual std::unique_ptr<fabric_workspace> open(const workspace_request& request) = 0;
};

}  // namespace switchyard
