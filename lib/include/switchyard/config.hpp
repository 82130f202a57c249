// SPDX-License-Identifier: Apache-2.0
// How a group is set up: options of the exchange, and what a rank brings to construction.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "switchyard/comm_backend.hpp"
#include "switchyard/spec/low_precision.hpp"
#include "switchyard/spec/shapes.hpp"
#include "switchyard/stream.hpp"

namespace switchyard {

class fabric;  // the library's inner seam; see lib/src/fabric/fabric.hpp

/// Whether something optional is used. automatic: where it is available and pays. on: where it is not available,
/// construction throws `unsupported` on all ranks.
enum class choice : std::uint8_t { off, automatic, on };

constexpr std::string_view to_string(choice which) noexcept {
  switch (which) {
    case choice::off: return "off";
    case choice::automatic: return "auto";
    case choice::on: return "on";
  }
  return "unknown";
}

/// Options of the exchange. Equal on all ranks; construction checks that they are.
struct one_sided_config {
  std::size_t extra_payload_bytes_per_token = 0;  ///< capacity of the extra payload's row
  /// The most integers of load statistics that a rank brings to a dispatch (dispatch_options::eplb_local_stats),
  /// 0 .. num_experts; 0: there are none. Takes 12 * ep_size bytes of the workspace for each.
  std::int64_t eplb_stats_num_experts = 0;
  std::chrono::nanoseconds timeout = std::chrono::seconds(300);           ///< of a phase; 1 ms .. 24 h
  std::chrono::nanoseconds warmup_timeout = std::chrono::nanoseconds(0);  ///< of the first step; 0: max(timeout, 300 s)
  /// Programmatic dependent launch: a phase's kernel is made ready while what the stream runs before it still runs, and
  /// then waits for its end. Used for phases that leave room for it, by ranks that have a GPU of their own. A kernel of
  /// the caller's between two phases that is itself launched so must wait for the one before it as well.
  choice enable_pdl = choice::automatic;
  /// Steps of few tokens by the transport `lamport`, whose words say by themselves that they have come: for a step with
  /// T <= lamport_max_tokens all of whose payloads' row_bytes are multiples of 4. Takes inboxes of
  /// ep_size * min(lamport_max_tokens, max_tokens_per_rank) rows.
  choice lamport = choice::automatic;
  /// 1 .. 2^30. The default is the crossover with fence on two H200s, deepseek_v3 rows (results/h200x2-nv18).
  std::int64_t lamport_max_tokens = 256;
  /// Ranks may be masked off (set_active_ranks): tokens to them are dropped, and nobody waits for them.
  bool enable_rank_mask = false;
  /// In which format expert outputs travel in combine, whatever the transport. All that is summed is in it, this rank's
  /// own outputs too, so that a result depends neither on who computed it nor on how it came.
  low_precision low_precision_combine = low_precision::none;
  int max_blocks = 0;  ///< upper bound of blocks per launch; 0: the policy decides

  friend bool operator==(const one_sided_config&, const one_sided_config&) = default;
};

/// What one rank brings to construction.
struct bootstrap {
  int rank = 0;
  int ep_size = 1;
  fabric_kind kind = fabric_kind::host;
  /// Ordinal of this rank's GPU; several ranks may share one. Ignored on the host fabric. A phase may hold every place
  /// that its blocks find on the device while it waits for peers: two groups whose phases run at the same time on the
  /// same GPUs need `max_blocks` that fit together.
  int device = 0;
  std::shared_ptr<switchyard::comm_backend> comm_backend;
  /// CUDA fabric, ranks as processes: whether they may have one GPU. It runs kernels of one process at a time, so a
  /// phase that waits for a peer there waits for the GPU's turns: right, but slow; for tests. Every rank must say so.
  /// Ranks that are threads of one process share a GPU without.
  bool processes_may_share_gpu = false;
  /// Host fabric only: where the workspace is allocated (workspace_bytes(), page aligned). Null: pages of the system,
  /// which must be where ranks are processes: they share segments, by a comm backend that passes descriptors.
  /// Must outlive the workspaces of all ranks and be thread-safe: the last rank to let go of a workspace frees it.
  std::pmr::memory_resource* host_memory = nullptr;
  /// A fabric other than the built-in ones (a simulator, a fabric that injects faults). Null: the built-in fabric of
  /// `kind`.
  std::shared_ptr<switchyard::fabric> custom_fabric;
  /// First epoch of the workspace, equal on all ranks; tests start it just below its wrap-around. Not 0.
  std::uint32_t first_epoch = 1;
};

/// One region of a workspace; see docs/workspace_layout.md.
struct workspace_region {
  std::string name;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// The regions of a workspace in ascending order, not touching one another: each is followed by at least
/// `workspace_guard_bytes` bytes that belong to nobody and that the library never writes.
/// Local. Throws invalid_argument when params, config or ep_size break a rule.
std::vector<workspace_region> workspace_regions(const comm_params& params, const one_sided_config& config, int ep_size);

/// Bytes of symmetric memory that one rank's workspace takes. Local. Throws as workspace_regions.
std::size_t workspace_bytes(const comm_params& params, const one_sided_config& config, int ep_size);

inline constexpr std::size_t workspace_guard_bytes = 256;

}  // namespace switchyard
