// SPDX-License-Identifier: Apache-2.0
#include "checkpoint.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "fabric/collective_step.hpp"
#include "layout/rank_mask.hpp"
#include "recovery.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard {
namespace {

/// A meeting of all ranks that, when somebody does not come, breaks no later one, where the backend can do that.
class whole_meeting {
 public:
  whole_meeting(const char* call, comm_backend& backend, std::chrono::nanoseconds timeout)
      : part_(backend.part_of(layout::all_ranks(backend.size()), timeout)),
        meeting_(call, part_ ? *part_ : backend, timeout) {}
  [[nodiscard]] const rank_meeting& operator*() const noexcept { return meeting_; }
  [[nodiscard]] const rank_meeting* operator->() const noexcept { return &meeting_; }

 private:
  std::shared_ptr<comm_backend> part_;
  rank_meeting meeting_;
};

/// What every rank says of itself before anything changes; plain bytes.
struct standing {
  round_position at;
  std::uint64_t layout_digest = 0;
};

resting_state come_to_rest(shared_workspace& workspace, std::chrono::nanoseconds timeout) {
  workspace.require_sound();
  auto& recovery = workspace->recovery();
  if (!recovery.drain_for(timeout)) throw state_error("its launches did not end in time");
  const auto rest = recovery.rest();
  if (rest.due != phase::dispatch) throw state_error("a dispatch that was replayed has had no combine");
  workspace.shut();  // the last launch may have failed, or somebody aborted
  return rest;
}

/// The workspace is neither what it was nor what it was to be.
[[noreturn]] void lose(shared_workspace& workspace, const std::string& call, const std::string& why) {
  const auto message = call + ": the workspace is lost for good: " + why;
  workspace.end_for_good(message);
  throw cuda_error(message);
}

void check_identity(const shared_workspace& workspace, const comm_backend* backend) {
  if (backend == nullptr) throw invalid_argument("checkpoint_restore: the backend is null, must be this rank's");
  const auto& key = workspace.key();
  if (backend->rank() == key.rank && backend->size() == key.ep_size) return;
  throw invalid_argument("checkpoint_restore: the backend is of rank " + std::to_string(backend->rank()) + " of " +
                         std::to_string(backend->size()) + ", must be of rank " + std::to_string(key.rank) + " of " +
                         std::to_string(key.ep_size) + " as before");
}

}  // namespace

void prepare_checkpoint(shared_workspace& workspace, std::chrono::nanoseconds timeout) {
  constexpr auto call = "checkpoint_prepare";
  const auto open_step = workspace.begin_to_prepare();
  if (!open_step) return;
  std::unique_ptr<whole_meeting> meeting;
  try {
    meeting = std::make_unique<whole_meeting>(call, *workspace.backend, timeout);
    (void)collective_step<nothing>(**meeting, [&]() -> nothing {
      if (!open_step->empty()) throw state_error(*open_step);
      // Half of the time, so that a rank whose launches do not end still comes to say so.
      workspace.prepared_at = come_to_rest(workspace, (*meeting)->remaining() / 2);
      return {};
    });
  } catch (...) {
    workspace.end_change(workspace_life::usable);
    workspace.require_sound();  // where it is this rank's own fault, with its record
    throw;
  }
  // Nothing of any rank runs, and nobody's abort() begins: all have shut it out.
  try {
    (void)collective_step<nothing>(**meeting, [&]() -> nothing {
      workspace->recovery().release_memory();
      return {};
    });
  } catch (const std::exception& e) {
    lose(workspace, call, e.what());
  }
  workspace.backend = nullptr;
  workspace.end_change(workspace_life::prepared);
}

void restore_checkpoint(const std::shared_ptr<shared_workspace>& workspace, std::shared_ptr<comm_backend> backend,
                        std::chrono::nanoseconds timeout) {
  constexpr auto call = "checkpoint_restore";
  auto& shared = *workspace;
  check_identity(shared, backend.get());
  if (!shared.begin_to_restore()) return;
  auto& recovery = shared->recovery();
  std::unique_ptr<whole_meeting> meeting;
  try {
    meeting = std::make_unique<whole_meeting>(call, *backend, timeout);
    const auto all = collective_step<standing>(**meeting, [&]() -> standing {
      return {shared.prepared_at.at, layout::digest_of(layout::make_layout(shared.key().dims))};
    });
    std::vector<round_position> positions;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      positions.push_back(all[rank].at);
      if (all[rank].layout_digest == all[0].layout_digest) continue;
      throw invalid_argument("checkpoint_restore: the workspaces of ranks 0 and " + std::to_string(rank) +
                             " are laid out differently, must be those of one group");
    }
    recovery.restart({position_behind(positions), shared.prepared_at.active}, **meeting);
  } catch (...) {
    // A part of it may have come back; it goes again, so that what the caller is left with is what it had.
    (void)judge([&] { recovery.release_memory(); });
    shared.end_change(workspace_life::prepared);
    throw;
  }
  try {
    (*meeting)->backend().barrier((*meeting)->remaining());  // no first launch may meet a workspace that is not new yet
    recovery.open_again((*meeting)->remaining());
    workspace_registry::of_process().rename(workspace, backend->group_id());
  } catch (const std::exception& e) {
    lose(shared, call, e.what());
  }
  shared.backend = std::move(backend);
  shared.end_change(workspace_life::usable);
}

}  // namespace switchyard
