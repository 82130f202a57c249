// SPDX-License-Identifier: Apache-2.0
// Where a rank on the host has its peers' memory, as threads of its process or as processes of its host, and what
// becomes of all that memory between two lives of the workspaces.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/host/entry_count.hpp"
#include "fabric/host/host_memory.hpp"
#include "fabric/rank_meeting.hpp"
#include "layout/workspace_layout.hpp"
#include "protocol/params.hpp"
#include "switchyard/comm_backend.hpp"

namespace switchyard::host {

/// What queued launches need even when the workspace object is gone, and what peers of the same process reach of it.
struct shared_part {
  shared_part(std::size_t bytes, std::pmr::memory_resource* resource) : memory(bytes, resource) {}
  host_memory memory;
  layout::fault_mailbox mailbox;
  entry_count inside;    ///< whoever may store into peers' memory
  std::mutex next_life;  ///< of a restart, and of those who end this life, here or from outside
  int kept_out_by = -1;  ///< the rank that has ended this life from outside; guarded by next_life
};

class neighbours {
 public:
  virtual ~neighbours() = default;

  /// Of each rank, this one's own too; the same for as long as this lives.
  [[nodiscard]] virtual std::vector<std::byte*> bases() const = 0;
  /// As recoverable::keep_out.
  [[nodiscard]] virtual rank_set keep_out(const rank_set& left_out, std::chrono::nanoseconds timeout) = 0;
  /// Memory for another life, which `initialise` fills in under part.next_life. Collective over the ranks of the
  /// meeting, as recoverable::restart. When it returns, all of them have initialised, or will before they meet next.
  virtual void renew(const rank_meeting& meeting, const std::function<void()>& initialise) = 0;
  /// As recoverable::release_memory.
  virtual void release_memory() = 0;
};

/// A rank as its neighbours are made for it.
struct neighbourly_rank {
  protocol::workspace_handle handle;  ///< of which peers are not known yet
  std::shared_ptr<shared_part> part;
};

/// Collective: threads where all ranks are of one process; else processes, whose memory is new, so that `initialise`
/// fills it in once more. Throws unsupported where ranks are processes and the backend passes no descriptors, or
/// memory is from a resource; out_of_memory; peer_fault as the backend does. On all ranks, but for the last.
std::unique_ptr<neighbours> meet_neighbours(comm_backend& backend, const neighbourly_rank& self,
                                            const std::function<void()>& initialise, std::chrono::nanoseconds timeout);

/// Records that `by` has ended this life from outside, as an abort of its own would, and poisons. Its notices to
/// others, which it does not send, are theirs to know of.
void poison(const protocol::workspace_handle& ws, int by);

}  // namespace switchyard::host
