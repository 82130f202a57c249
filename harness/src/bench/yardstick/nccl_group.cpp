// SPDX-License-Identifier: Apache-2.0
#include "nccl_group.hpp"

namespace switchyard::harness {

nccl_group::nccl_group(nccl_api api, int ranks)
    : timed_ranks(ranks), api_(std::move(api)), comms_(static_cast<std::size_t>(ranks)) {
  ncclUniqueId id{};
  api_.check(api_.get_unique_id(&id), "ncclGetUniqueId");
  on_every_rank(ranks, [&](int rank) {
    this->ranks()[static_cast<std::size_t>(rank)].make_current();
    api_.check(api_.comm_init_rank(&comms_[static_cast<std::size_t>(rank)], ranks, id, rank), "ncclCommInitRank");
  });
}

nccl_group::~nccl_group() {
  try {
    // Destruction is collective: a thread each.
    on_every_rank(size(), [&](int rank) {
      ranks()[static_cast<std::size_t>(rank)].make_current();
      if (auto* comm = comms_[static_cast<std::size_t>(rank)]; comm != nullptr) (void)api_.comm_destroy(comm);
    });
  } catch (...) {  // nothing is left to do with what could not be given back
  }
}

nccl_buffers::nccl_buffers(nccl_group& group, nccl_memory memory, std::size_t bytes)
    : group_(group), memory_(memory), pieces_(static_cast<std::size_t>(group.size())) {
  if (memory == nccl_memory::symmetric_window && group.api().window_register == nullptr) {
    throw nccl_error("windows came with NCCL 2.27");
  }
  try {
    on_every_rank(group.size(), [&](int rank) {
      const auto& one = group.ranks()[static_cast<std::size_t>(rank)];
      one.make_current();
      take(pieces_[static_cast<std::size_t>(rank)], one, bytes);
    });
  } catch (...) {
    give_back();
    throw;
  }
}

nccl_buffers::~nccl_buffers() { give_back(); }

void nccl_buffers::take(piece& mine, const timed_rank& one, std::size_t bytes) {
  const auto& api = group_.api();
  // Windows ask for pages of 4096; NCCL rounds what it allocates up further by itself.
  constexpr std::size_t page = 4096;
  bytes = (bytes + page) / page * page;
  if (memory_ == nccl_memory::plain) {
    check_cuda(cudaMalloc(&mine.data, bytes), "taking device memory");
  } else {
    api.check(api.mem_alloc(&mine.data, bytes), "ncclMemAlloc");
  }
  if (memory_ == nccl_memory::registered) {
    api.check(api.comm_register(group_.comm(one), mine.data, bytes, &mine.handle), "ncclCommRegister");
  } else if (memory_ == nccl_memory::symmetric_window) {
    api.check(api.window_register(group_.comm(one), mine.data, bytes, &mine.window, nccl_symmetric),
              "ncclCommWindowRegister");
    if (mine.window == nullptr) throw nccl_error("ncclCommWindowRegister: no window, symmetric memory is off");
  }
  check_cuda(cudaMemset(mine.data, 0, bytes), "clearing device memory");
  check_cuda(cudaDeviceSynchronize(), "clearing device memory");
}

void nccl_buffers::give_back() noexcept {
  try {
    on_every_rank(group_.size(), [&](int rank) {
      const auto& one = group_.ranks()[static_cast<std::size_t>(rank)];
      auto& mine = pieces_[static_cast<std::size_t>(rank)];
      const auto& api = group_.api();
      one.make_current();
      if (mine.handle != nullptr) (void)api.comm_deregister(group_.comm(one), mine.handle);
      if (mine.window != nullptr) (void)api.window_deregister(group_.comm(one), mine.window);
      if (mine.data == nullptr) return;
      if (memory_ == nccl_memory::plain) {
        (void)cudaFree(mine.data);
      } else {
        (void)api.mem_free(mine.data);
      }
    });
  } catch (...) {  // no thread could be had: the memory goes with the process
  }
}

}  // namespace switchyard::harness
