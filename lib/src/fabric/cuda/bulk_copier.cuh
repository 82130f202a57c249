// SPDX-License-Identifier: Apache-2.0
// Copies by the engine for bulk copies: through stages in shared memory, driven by one thread of a warp, beside
// whatever the other threads do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/cuda/block_shape.hpp"

namespace switchyard::cuda {

/// Shared memory of one warp's copies.
struct alignas(128) bulk_stages {
  std::byte stages[bulk_stage_count][bulk_stage_bytes];
};
static_assert(sizeof(bulk_stages) == bulk_bytes_of_warp);

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// A slab of a row lies in the stages while it goes out; the next one is loaded when the engine has read them.
/// Everything is called by one and the same thread. Proxies (DESIGN's invariant 11): what is loaded was written by
/// launches that have ended; a stage is read and written by the engine alone; stores are complete, and fenced, before
/// complete_all returns.
class bulk_copier {
 public:
  static constexpr std::uint32_t slab_bytes = bulk_bytes_of_warp;

  bulk_copier() = default;
  __device__ bulk_copier(bulk_stages& stages, std::uint64_t* loaded) : stages_(&stages), loaded_(loaded) {}

  /// Before the first copy.
  __device__ void open() {
#pragma unroll 1
    for (std::uint32_t i = 0; i < bulk_stage_count; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(loaded_ + i)) : "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
  }

  /// Begins to load the first slab of `bytes` at `in`, multiples of 16 both; finish() with the same must follow.
  __device__ void begin(const std::byte* in, std::uint32_t bytes) {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    const auto end = bytes < slab_bytes ? bytes : slab_bytes;
#pragma unroll 1
    for (std::uint32_t first = 0; first < end; first += bulk_stage_bytes) {
      const auto size = end - first < bulk_stage_bytes ? end - first : bulk_stage_bytes;
      const auto loaded = shared_address(loaded_ + first / bulk_stage_bytes);
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(loaded), "r"(size) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                       shared_address(stages_) + first),
                   "l"(in + first), "r"(size), "r"(loaded)
                   : "memory");
    }
  }

  /// Stores what begin() loads, and all slabs after it, to out_at(0) .. out_at(targets - 1).
  template <class OutAt>
  __device__ void finish(const std::byte* in, std::uint32_t bytes, std::uint32_t targets, const OutAt& out_at) {
#pragma unroll 1
    for (std::uint32_t slab = 0;;) {
      const auto end = bytes - slab < slab_bytes ? bytes - slab : slab_bytes;
#pragma unroll 1
      for (std::uint32_t t = 0; t < targets; ++t) {
        auto* out = out_at(t) + slab;
#pragma unroll 1
        for (std::uint32_t first = 0; first < end; first += bulk_stage_bytes) {
          const auto size = end - first < bulk_stage_bytes ? end - first : bulk_stage_bytes;
          if (t == 0) await_load(first / bulk_stage_bytes);
          asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + first),
                       "r"(shared_address(stages_) + first), "r"(size)
                       : "memory");
        }
      }
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      slab += slab_bytes;
      if (slab >= bytes) return;
      begin(in + slab, bytes - slab);
    }
  }

  /// Returns when all copies are where they go to.
  __device__ void complete_all() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }

 private:
  /// Of this GPU's memory, so not without bound.
  __device__ void await_load(std::uint32_t stage) {
    std::uint32_t done = 0;
    while (done == 0) {
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(shared_address(loaded_ + stage)), "r"(parities_ >> stage & 1U)
                   : "memory");
    }
    parities_ ^= 1U << stage;
  }

  bulk_stages* stages_ = nullptr;
  std::uint64_t* loaded_ = nullptr;  ///< [bulk_stage_count] barriers: the stage's piece has been loaded
  std::uint32_t parities_ = 0;       ///< bit i: of the next load into stage i
};

}  // namespace switchyard::cuda
