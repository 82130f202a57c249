// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/connect_slices.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "fabric/collective_step.hpp"
#include "fabric/exchange_descriptors.hpp"
#include "fabric/process_identity.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

struct rank_place {
  process_identity process;
  cudaUUID_t gpu{};
  std::int32_t device = 0;
  std::int32_t can_use_fabric = 0;
  std::int32_t may_share_gpu = 0;
};

bool same_gpu(const rank_place& a, const rank_place& b) {
  return std::equal(std::begin(a.gpu.bytes), std::end(a.gpu.bytes), std::begin(b.gpu.bytes));
}

/// Each step has the time that construction may wait for a peer: what a step does itself is no wait.
rank_meeting construction(comm_backend& backend, std::chrono::nanoseconds timeout) {
  return {"construction", backend, timeout};
}

/// Closes a descriptor when it has been exported and the peers are done with it, or when ranks give up.
struct held_slice {
  const driver_api& api;
  slice_handle handle;
  explicit held_slice(const driver_api& with) : api(with) {}
  held_slice(const held_slice&) = delete;
  held_slice& operator=(const held_slice&) = delete;
  ~held_slice() { close_slice_handle(api, handle); }
};

/// What each rank of a meeting has exported, by place, as this process can import it. `owned`: of those that are closed
/// when they have been imported.
struct gathered_slices {
  std::vector<slice_handle> by_place;
  std::vector<unique_descriptor> owned;
};

/// `export_mine` returns this rank's slice, whose descriptor stays its own. Throws on all ranks, or on none.
gathered_slices gather_slices(const rank_meeting& meeting, passing handles,
                              const std::function<slice_handle()>& export_mine) {
  slice_handle mine;
  gathered_slices gathered;
  gathered.by_place = collective_step<slice_handle>(meeting, [&] { return mine = export_mine(); });
  if (handles == passing::as_it_is) return gathered;
  gathered.owned = exchange_descriptors(meeting, mine.descriptor);
  for (std::size_t place = 0; place < gathered.owned.size(); ++place) {
    gathered.by_place[place].descriptor = gathered.owned[place].get();
  }
  return gathered;
}

/// Throws where a rank of another process has this rank's GPU, unless all ranks have asked for that.
void check_sharing(const std::vector<rank_place>& all, const rank_place& here) {
  if (std::all_of(all.begin(), all.end(), [](const auto& each) { return each.may_share_gpu != 0; })) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].process == here.process || !same_gpu(all[rank], here)) continue;
    throw unsupported("device " + std::to_string(here.device) + " is also rank " + std::to_string(rank) +
                      "'s, which is another process: kernels of both never run at the same time; every rank must ask " +
                      "for that by processes_may_share_gpu");
  }
}

}  // namespace

group_place survey_group(comm_backend& backend, const driver_api& api, const surveyed_rank& self,
                         std::chrono::nanoseconds timeout) {
  const int device = self.device;
  const auto all = collective_step<rank_place>(construction(backend, timeout), [&]() -> rank_place {
    rank_place mine{identity_of_process(),
                    {},
                    device,
                    fabric_handles_work(api, device) ? 1 : 0,
                    self.processes_may_share_gpu ? 1 : 0};
    check(api.gpu_identity(&mine.gpu, device), "cuda fabric: asking which GPU it is");
    return mine;
  });
  const auto here = all[static_cast<std::size_t>(backend.rank())];
  group_place place;
  const bool all_fabric = std::all_of(all.begin(), all.end(), [](const auto& r) { return r.can_use_fabric != 0; });
  const bool apart = std::any_of(all.begin(), all.end(), [&](const auto& r) { return !(r.process == all[0].process); });
  place.kind = all_fabric ? handle_kind::fabric : handle_kind::posix_descriptor;
  place.handles = apart && !all_fabric ? passing::by_descriptor : passing::as_it_is;
  place.ranks_on_device =
      static_cast<int>(std::count_if(all.begin(), all.end(), [&](const auto& r) { return same_gpu(r, here); }));

  // Before any large allocation: which of our pairs cannot be mapped. A device of another process is not ours to ask.
  (void)collective_step<nothing>(construction(backend, timeout), [&]() -> nothing {
    if (place.handles == passing::by_descriptor && !backend.passes_descriptors()) {
      throw unsupported(
          "cuda fabric: ranks are processes, fabric handles cannot be used, and the comm backend passes no "
          "descriptors");
    }
    check_sharing(all, here);
    std::string refused;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (!(all[rank].process == here.process) || all[rank].device == device) continue;
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

void connect_slices(comm_backend& backend, const driver_api& api, symmetric_memory& memory, const group_place& place,
                    const std::function<void()>& initialise, std::chrono::nanoseconds timeout) {
  try {
    held_slice mine(api);
    const auto slices = gather_slices(construction(backend, timeout), place.handles, [&] {
      memory.back(place.kind);
      mine.handle = memory.export_slice();
      initialise();
      return mine.handle;
    });
    // After this one every peer has imported, so the descriptor may go.
    (void)collective_step<nothing>(construction(backend, timeout), [&]() -> nothing {
      for (int rank = 0; rank < backend.size(); ++rank) {
        if (rank != backend.rank()) memory.map_peer(rank, slices.by_place[static_cast<std::size_t>(rank)]);
      }
      return {};
    });
  } catch (...) {
    memory.unback();
    throw;
  }
}

void remap_slices(const rank_meeting& meeting, const driver_api& api, symmetric_memory& memory, int rank,
                  passing handles, const std::function<void()>& settle, const std::function<void()>& initialise) {
  try {
    held_slice mine(api);
    const auto slices = gather_slices(meeting, handles, [&] {
      memory.prepare();
      mine.handle = memory.export_slice();
      return mine.handle;
    });
    (void)collective_step<nothing>(meeting, [&]() -> nothing {
      for (std::size_t place = 0; place < slices.by_place.size(); ++place) {
        if (meeting.ranks()[place] != rank) memory.prepare_peer(meeting.ranks()[place], slices.by_place[place]);
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
