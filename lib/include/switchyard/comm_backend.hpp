// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group meet outside the data path: construction, recovery, destruction.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "switchyard/spec/faults.hpp"

namespace switchyard {

/// 128 bits that name a group; made by rank 0 when the backend is created, equal on all ranks.
using group_id = std::array<std::uint64_t, 2>;

/// Collective operations among the ranks of one group. All ranks issue the same sequence of calls. One caller at a
/// time per rank; different ranks may live on different threads or in different processes.
class comm_backend {
 public:
  virtual ~comm_backend() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual switchyard::group_id group_id() const noexcept = 0;

  /// Gathers `mine` from every rank into `all` (size() * mine.size() bytes, rank-major). Collective; mine.size() equal
  /// on all ranks. Everything a rank wrote before the call is visible to every rank after it.
  /// Throws peer_fault naming the ranks that did not come within `timeout`, which its record has as `missing`, or
  /// invalid_argument when sizes differ. A backend that a rank did not come to may be broken for good.
  virtual void allgather(std::span<const std::byte> mine, std::span<std::byte> all,
                         std::chrono::nanoseconds timeout) = 0;

  /// What its exceptions call the rank at `place`, one of 0 .. size() - 1: another number than that in a part of a
  /// backend, for one. Local.
  [[nodiscard]] virtual int name_of(int place) const noexcept { return place; }

  /// Returns when every rank has called it. Ordering and errors as allgather.
  virtual void barrier(std::chrono::nanoseconds timeout) = 0;

  /// Whether allgather_descriptors works: the ranks are of one host. Local; equal on all ranks.
  [[nodiscard]] virtual bool passes_descriptors() const noexcept { return false; }

  /// Gathers an open file descriptor from every rank, or none (-1): how ranks of one host pass memory handles. Returns
  /// size() descriptors by place, -1 where that rank gave none. They are new ones of this process, this rank's own too,
  /// each referring to what the rank gave; close-on-exec, and the caller's to close. `mine` stays the caller's as well,
  /// who may close it as soon as the call has returned or thrown. Collective; ordering and faults as allgather. Throws
  /// unsupported where passes_descriptors() is false, or where this process may have no more descriptors, which is
  /// told to this rank alone and leaves the backend whole; invalid_argument for a descriptor that is not open, before
  /// anything is gathered. Whenever it throws, what had been received is closed.
  virtual std::vector<int> allgather_descriptors(int mine, std::chrono::nanoseconds timeout);

  /// A new backend of these ranks alone, this one among them, which are numbered in their order; its group_id is this
  /// one's, and what it throws names ranks as this backend does (name_of). It must not need the others, nor this
  /// backend to be whole: that is what it is for. Collective over `members`, as which a backend may wait for them, but
  /// no longer than `timeout`; ranks that ask again after an attempt that failed meet in a backend that knows nothing
  /// of it. Null where a backend has no such thing, which is the default. Throws invalid_argument for members that are
  /// not there, or without this rank; peer_fault as allgather.
  virtual std::shared_ptr<comm_backend> part_of(const rank_set& /*members*/, std::chrono::nanoseconds /*timeout*/) {
    return nullptr;
  }
};

/// Backends for `size` ranks that are threads of this process; element r serves rank r.
/// Throws invalid_argument unless 1 <= size <= max_ep_size.
std::vector<std::shared_ptr<comm_backend>> make_in_process_backends(int size);

}  // namespace switchyard
