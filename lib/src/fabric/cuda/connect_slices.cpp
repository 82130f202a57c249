// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/connect_slices.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fabric/collective_step.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

struct rank_place {
  std::int64_t process = 0;
  std::int32_t device = 0;
  std::int32_t can_use_fabric = 0;
};

/// Each step has the time that construction may wait for a peer: what a step does itself is no wait.
rank_meeting construction(comm_backend& backend, std::chrono::nanoseconds timeout) {
  return {"construction", backend, timeout};
}

/// Closes an exported descriptor when the peers are done with it, or have given up.
struct exported_slice {
  const driver_api& api;
  slice_handle handle;
  ~exported_slice() { close_slice_handle(api, handle); }
};

}  // namespace

group_place survey_group(comm_backend& backend, const driver_api& api, int device, std::chrono::nanoseconds timeout) {
  const auto all = collective_step<rank_place>(construction(backend, timeout), [&]() -> rank_place {
    return {getpid(), device, fabric_handles_work(api, device) ? 1 : 0};
  });
  const auto here = all[static_cast<std::size_t>(backend.rank())];
  group_place place;
  const bool all_fabric = std::all_of(all.begin(), all.end(), [](const auto& r) { return r.can_use_fabric != 0; });
  place.kind = all_fabric ? handle_kind::fabric : handle_kind::posix_descriptor;
  for (std::size_t rank = 0; rank < all.size() && !all_fabric; ++rank) {
    if (all[rank].process == all[0].process) continue;
    throw unsupported("cuda fabric: rank " + std::to_string(rank) +
                      " is another process than rank 0, must be a thread of one where fabric handles cannot be used");
  }
  place.ranks_on_device = static_cast<int>(std::count_if(
      all.begin(), all.end(), [&](const auto& r) { return r.process == here.process && r.device == here.device; }));

  // Before any large allocation: which of our pairs cannot be mapped. A device of another process is not ours to ask.
  (void)collective_step<nothing>(construction(backend, timeout), [&]() -> nothing {
    std::string refused;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].process != here.process || all[rank].device == device) continue;
      int can = 0;
      check(api.can_access_peer(&can, device, all[rank].device), "cuda fabric: asking for peer access");
      if (can != 0) continue;
      refused +=
          (refused.empty() ? "" : ", ") + std::to_string(rank) + " (device " + std::to_string(all[rank].device) + ")";
    }
    if (refused.empty()) return {};
    throw unsupported("device " + std::to_string(device) + " has no peer access to rank(s) " + refused);
  });
  return place;
}

void connect_slices(comm_backend& backend, const driver_api& api, symmetric_memory& memory, handle_kind kind,
                    const std::function<void()>& initialise, std::chrono::nanoseconds timeout) {
  try {
    exported_slice mine{api, {}};
    const auto slices = collective_step<slice_handle>(construction(backend, timeout), [&] {
      memory.back(kind);
      mine.handle = memory.export_slice();
      initialise();
      return mine.handle;
    });
    // After this one every peer has imported, so the descriptor may go.
    (void)collective_step<nothing>(construction(backend, timeout), [&]() -> nothing {
      for (int rank = 0; rank < backend.size(); ++rank) {
        if (rank != backend.rank()) memory.map_peer(rank, slices[static_cast<std::size_t>(rank)]);
      }
      return {};
    });
  } catch (...) {
    memory.unback();
    throw;
  }
}

void remap_slices(const rank_meeting& meeting, const driver_api& api, symmetric_memory& memory, int rank,
                  const std::function<void()>& settle, const std::function<void()>& initialise) {
  try {
    exported_slice mine{api, {}};
    const auto slices = collective_step<slice_handle>(meeting, [&] {
      memory.prepare();
      mine.handle = memory.export_slice();
      return mine.handle;
    });
    (void)collective_step<nothing>(meeting, [&]() -> nothing {
      for (std::size_t place = 0; place < slices.size(); ++place) {
        if (meeting.ranks()[place] != rank) memory.prepare_peer(meeting.ranks()[place], slices[place]);
      }
      return {};
    });
  } catch (...) {
    memory.discard();
    throw;
  }
  // Everybody has everything. From here on slices change.
  try {
    (void)collective_step<nothing>(meeting, [&]() -> nothing {
      settle();
      memory.remap();
      initialise();
      return {};
    });
  } catch (...) {
    memory.discard();
    throw;
  }
}

}  // namespace switchyard::cuda
