// SPDX-License-Identifier: Apache-2.0
// NCCL's communicators over the timed ranks, and memory that NCCL was told of.
#pragma once

#include <memory>
#include <vector>

#include "../timed_ranks.hpp"
#include "nccl_api.hpp"
#include "switchyard/harness/bench_yardstick.hpp"

namespace switchyard::harness {

/// One communicator per rank, all in this process.
class nccl_group final : public timed_ranks {
 public:
  /// Throws nccl_error.
  nccl_group(nccl_api api, int ranks);
  ~nccl_group() override;

  [[nodiscard]] const nccl_api& api() const noexcept { return api_; }
  [[nodiscard]] ncclComm_t comm(const timed_rank& one) const { return comms_[static_cast<std::size_t>(one.rank)]; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(comms_.size()); }

 private:
  nccl_api api_;
  std::vector<ncclComm_t> comms_;
};

/// A buffer of equal size on every rank. Goes before its group.
class nccl_buffers {
 public:
  /// Collective within the process. Throws nccl_error and cuda_error.
  nccl_buffers(nccl_group& group, nccl_memory memory, std::size_t bytes);
  ~nccl_buffers();
  nccl_buffers(const nccl_buffers&) = delete;
  nccl_buffers& operator=(const nccl_buffers&) = delete;

  [[nodiscard]] std::byte* of(const timed_rank& one) const {
    return static_cast<std::byte*>(pieces_[static_cast<std::size_t>(one.rank)].data);
  }

 private:
  struct piece {
    void* data = nullptr;
    void* handle = nullptr;
    nccl_window window = nullptr;
  };
  void take(piece& mine, const timed_rank& one, std::size_t bytes);
  void give_back() noexcept;

  nccl_group& group_;
  nccl_memory memory_;
  std::vector<piece> pieces_;
};

}  // namespace switchyard::harness
