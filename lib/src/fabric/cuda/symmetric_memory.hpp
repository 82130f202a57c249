// SPDX-License-Identifier: Apache-2.0
// One rank's view of the group's memory: a range of addresses with one slice per rank, its own backed by physical
// memory of its device, the others by memory that the peers have exported. Addresses stay for the object's life, also
// when the memory behind them is taken away and given back (checkpoint, recovery).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/cuda/driver_api.hpp"

namespace switchyard::cuda {

/// How physical memory is passed between ranks.
enum class handle_kind : std::uint8_t {
  posix_descriptor,  ///< within one process or host
  fabric,            ///< across the trays of a rack; needs an IMEX channel
};

/// An exported slice; plain bytes, so that it can be gathered.
struct slice_handle {
  handle_kind kind = handle_kind::posix_descriptor;
  int descriptor = -1;
  std::array<unsigned char, sizeof(CUmemFabricHandle)> fabric{};
};

/// Whether memory of `device` can really be allocated and exported as a fabric handle. The device's attribute is no
/// permission: it is also set in a container without an IMEX channel, so this tries, with the least memory there is.
bool fabric_handles_work(const driver_api& api, int device);

class symmetric_memory {
 public:
  /// Reserves addresses for `ep_size` slices of at least `bytes` each; no memory yet. `api` outlives the object.
  /// Every method that allocates or maps throws out_of_memory or cuda_error, and then leaves what was there before.
  symmetric_memory(const driver_api& api, int device, int rank, int ep_size, std::uint64_t bytes);
  /// Unmaps, releases and frees everything. The caller has seen to it that nothing on the device uses it any more.
  ~symmetric_memory();
  symmetric_memory(const symmetric_memory&) = delete;
  symmetric_memory& operator=(const symmetric_memory&) = delete;

  /// Backs this rank's slice with fresh physical memory, contents undefined, that can be exported as `kind`.
  /// Precondition: it is not backed.
  void back(handle_kind kind);
  /// This rank's slice, the prepared one where there is one, for the peers. A descriptor in it is the caller's to close
  /// (close_slice_handle).
  [[nodiscard]] slice_handle export_slice() const;
  /// Maps the memory that `peer` has exported. Precondition: peer is not this rank, and not mapped.
  void map_peer(int peer, const slice_handle& handle);
  /// Takes the memory away from behind all slices; the addresses stay. Peers that have mapped this rank's memory keep
  /// it alive. Idempotent.
  void unback() noexcept;
  /// As unback(), but throws cuda_error when the driver refuses any of it, the rest having gone.
  void take_away();

  /// Allocates fresh physical memory for this rank's slice, contents undefined, beside what is there, of the kind that
  /// back() has made. Precondition: it has been backed, and may have been unbacked since.
  void prepare();
  /// Takes in the memory with which `peer` is to replace what this rank has mapped of it, if anything. Precondition:
  /// peer is not this rank.
  void prepare_peer(int peer, const slice_handle& handle);
  /// Puts what was prepared behind the addresses, the peers' slices first. What was there goes back, unless somebody
  /// else has mapped it. Nothing on the device may use those slices meanwhile. When it throws, slices that have not
  /// been replaced yet are as they were, or not mapped, but for this rank's own: that has its old memory back, if that
  /// can be done at all. What was prepared stays for another attempt, or for discard().
  void remap();
  /// Gives back what was prepared and has not been put in place. Idempotent.
  void discard() noexcept;

  /// Whether there is memory behind this rank's own slice, of whichever generation.
  [[nodiscard]] bool is_backed() const noexcept { return mapped_[static_cast<std::size_t>(rank_)]; }
  [[nodiscard]] std::byte* slice(int rank) const noexcept {
    return reinterpret_cast<std::byte*>(base_ + static_cast<std::uint64_t>(rank) * slice_bytes_);
  }
  /// The size of a slice: `bytes` rounded up to what the device can map.
  [[nodiscard]] std::uint64_t slice_bytes() const noexcept { return slice_bytes_; }

 private:
  [[nodiscard]] CUmemGenericAllocationHandle allocate(handle_kind kind) const;
  [[nodiscard]] CUmemGenericAllocationHandle import(const slice_handle& handle) const;
  void map(int rank, CUmemGenericAllocationHandle memory);
  void unmap(int rank);

  const driver_api& api_;
  int device_;
  int rank_;
  std::uint64_t slice_bytes_ = 0;
  CUdeviceptr base_ = 0;
  handle_kind kind_ = handle_kind::posix_descriptor;
  CUmemGenericAllocationHandle own_ = 0;  // kept for export; a peer's is given back as soon as it is mapped
  std::vector<bool> mapped_;
  std::vector<CUmemGenericAllocationHandle> prepared_;  // by rank; 0: none
};

/// Closes the descriptor of an exported slice, if it has one, and forgets it.
void close_slice_handle(const driver_api& api, slice_handle& handle) noexcept;

}  // namespace switchyard::cuda
