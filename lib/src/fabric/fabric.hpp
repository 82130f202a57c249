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

  // Recovery; the default says that a fabric has none.
  /// The same, but for no longer than `timeout`; whether all have ended.
  [[nodiscard]] virtual bool drain_for(std::chrono::nanoseconds /*timeout*/) { throw unsupported(no_recovery); }
  /// Precondition: no launch runs.
  [[nodiscard]] virtual round_position position() const { throw unsupported(no_recovery); }
  /// Makes the workspace as it was when it was opened, but for where it begins. Precondition: no launch of any rank
  /// runs, and none will before all ranks have restarted.
  virtual void restart(const round_position& /*from*/) { throw unsupported(no_recovery); }

 private:
  static constexpr const char* no_recovery = "recover: this fabric cannot yet, the host fabric can";
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
