// SPDX-License-Identifier: Apache-2.0
#include "fabric/cuda/symmetric_memory.hpp"

#include <cstring>

#include "switchyard/spec/errors.hpp"

namespace switchyard::cuda {
namespace {

CUmemAllocationHandleType type_of(handle_kind kind) {
  return kind == handle_kind::fabric ? CU_MEM_HANDLE_TYPE_FABRIC : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

CUmemAllocationProp properties(int device, handle_kind kind) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  wanted.requestedHandleTypes = type_of(kind);
  return wanted;
}

/// Gives a handle back when a scope ends; memory that is mapped, or imported elsewhere, lives on.
class owned_handle {
 public:
  owned_handle(const driver_api& api, CUmemGenericAllocationHandle handle) : api_(api), handle_(handle) {}
  ~owned_handle() {
    if (owned_) (void)api_.release(handle_);
  }
  owned_handle(const owned_handle&) = delete;
  owned_handle& operator=(const owned_handle&) = delete;
  [[nodiscard]] CUmemGenericAllocationHandle get() const { return handle_; }
  CUmemGenericAllocationHandle keep() {
    owned_ = false;
    return handle_;
  }

 private:
  const driver_api& api_;
  CUmemGenericAllocationHandle handle_;
  bool owned_ = true;
};

}  // namespace

bool fabric_handles_work(const driver_api& api, int device) {
  const auto wanted = properties(device, handle_kind::fabric);
  std::size_t bytes = 0;
  if (api.get_granularity(&bytes, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS) return false;
  CUmemGenericAllocationHandle created = 0;
  if (api.create(&created, bytes, &wanted, 0) != CUDA_SUCCESS) return false;
  const owned_handle probe(api, created);
  CUmemFabricHandle exported{};
  return api.export_handle(&exported, probe.get(), CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_SUCCESS;
}

symmetric_memory::symmetric_memory(const driver_api& api, int device, int rank, int ep_size, std::uint64_t bytes)
    : api_(api), device_(device), rank_(rank), mapped_(static_cast<std::size_t>(ep_size)), prepared_(mapped_.size()) {
  // The granularity is asked for without a handle type: it must not depend on what a probe has found, because slices
  // have the same size on every rank.
  auto wanted = properties(device, handle_kind::posix_descriptor);
  std::size_t granularity = 0;
  check(api_, api_.get_granularity(&granularity, &wanted, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
        "workspace: granularity of device memory");
  slice_bytes_ = (bytes + granularity - 1) / granularity * granularity;
  check(api_, api_.reserve_addresses(&base_, slice_bytes_ * mapped_.size(), granularity, 0, 0),
        "workspace: reserving addresses for all ranks");
}

symmetric_memory::~symmetric_memory() {
  discard();
  unback();
  (void)api_.free_addresses(base_, slice_bytes_ * mapped_.size());
}

CUmemGenericAllocationHandle symmetric_memory::allocate(handle_kind kind) const {
  const auto wanted = properties(device_, kind);
  CUmemGenericAllocationHandle created = 0;
  check(api_, api_.create(&created, slice_bytes_, &wanted, 0), "workspace: allocating this rank's slice");
  return created;
}

void symmetric_memory::back(handle_kind kind) {
  owned_handle memory(api_, allocate(kind));
  map(rank_, memory.get());
  own_ = memory.keep();
  kind_ = kind;
}

slice_handle symmetric_memory::export_slice() const {
  slice_handle exported;
  exported.kind = kind_;
  const auto prepared = prepared_[static_cast<std::size_t>(rank_)];
  const auto slice = prepared != 0 ? prepared : own_;
  if (kind_ == handle_kind::fabric) {
    CUmemFabricHandle handle{};
    check(api_, api_.export_handle(&handle, slice, type_of(kind_), 0), "workspace: exporting a fabric handle");
    std::memcpy(exported.fabric.data(), &handle, sizeof(handle));
  } else {
    check(api_, api_.export_handle(&exported.descriptor, slice, type_of(kind_), 0),
          "workspace: exporting a descriptor");
  }
  return exported;
}

CUmemGenericAllocationHandle symmetric_memory::import(const slice_handle& handle) const {
  CUmemGenericAllocationHandle imported = 0;
  // A descriptor is passed by value in place of the pointer, a fabric handle by its address.
  void* source = reinterpret_cast<void*>(static_cast<std::uintptr_t>(handle.descriptor));
  CUmemFabricHandle fabric{};
  if (handle.kind == handle_kind::fabric) {
    std::memcpy(&fabric, handle.fabric.data(), sizeof(fabric));
    source = &fabric;
  }
  check(api_, api_.import_handle(&imported, source, type_of(handle.kind)), "workspace: importing a peer's slice");
  return imported;
}

void symmetric_memory::map_peer(int peer, const slice_handle& handle) {
  const owned_handle memory(api_, import(handle));  // the mapping keeps the memory alive
  map(peer, memory.get());
}

void symmetric_memory::map(int rank, CUmemGenericAllocationHandle memory) {
  const auto address = base_ + static_cast<std::uint64_t>(rank) * slice_bytes_;
  check(api_, api_.map(address, slice_bytes_, 0, memory, 0), "workspace: mapping a slice");
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const auto allowed = api_.set_access(address, slice_bytes_, &access, 1);
  if (allowed != CUDA_SUCCESS) {
    (void)api_.unmap(address, slice_bytes_);
    check(api_, allowed, "workspace: access to a slice");
  }
  mapped_[static_cast<std::size_t>(rank)] = true;
}

void symmetric_memory::unmap(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  if (!mapped_[index]) return;
  check(api_, api_.unmap(base_ + index * slice_bytes_, slice_bytes_), "workspace: unmapping a slice");
  mapped_[index] = false;
}

void symmetric_memory::prepare() {
  discard();
  prepared_[static_cast<std::size_t>(rank_)] = allocate(kind_);
}

void symmetric_memory::prepare_peer(int peer, const slice_handle& handle) {
  auto& prepared = prepared_[static_cast<std::size_t>(peer)];
  const auto imported = import(handle);
  if (prepared != 0) (void)api_.release(prepared);
  prepared = imported;
}

void symmetric_memory::remap() {
  for (int peer = 0; peer < static_cast<int>(prepared_.size()); ++peer) {
    auto& prepared = prepared_[static_cast<std::size_t>(peer)];
    if (peer == rank_ || prepared == 0) continue;
    unmap(peer);
    map(peer, prepared);
    (void)api_.release(prepared);  // the mapping keeps the memory alive
    prepared = 0;
  }
  auto& prepared = prepared_[static_cast<std::size_t>(rank_)];
  if (prepared == 0) return;
  unmap(rank_);
  try {
    map(rank_, prepared);
  } catch (...) {
    try {
      if (own_ != 0) map(rank_, own_);
    } catch (const error&) {  // NOLINT(bugprone-empty-catch): the first failure is what is told
    }
    throw;
  }
  if (own_ != 0) (void)api_.release(own_);
  own_ = prepared;
  prepared = 0;
}

void symmetric_memory::discard() noexcept {
  for (auto& prepared : prepared_) {
    if (prepared != 0) (void)api_.release(prepared);
    prepared = 0;
  }
}

void symmetric_memory::unback() noexcept {
  try {
    take_away();
  } catch (const error&) {  // NOLINT(bugprone-empty-catch): whoever cares calls take_away()
  }
}

void symmetric_memory::take_away() {
  auto refused = CUDA_SUCCESS;
  const auto note = [&](CUresult result) {
    if (refused == CUDA_SUCCESS) refused = result;
  };
  for (std::size_t rank = 0; rank < mapped_.size(); ++rank) {
    if (mapped_[rank]) note(api_.unmap(base_ + rank * slice_bytes_, slice_bytes_));
    mapped_[rank] = false;
  }
  if (own_ != 0) note(api_.release(own_));
  own_ = 0;
  check(api_, refused, "workspace: taking memory away");
}

void close_slice_handle(const driver_api& api, slice_handle& handle) noexcept {
  if (handle.descriptor >= 0) (void)api.close_descriptor(handle.descriptor);
  handle.descriptor = -1;
}

}  // namespace switchyard::cuda
