// SPDX-License-Identifier: Apache-2.0
// The block of the CUDA fabric: a team of block_threads threads on one multiprocessor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/cuda/launch_shape.hpp"
#include "fabric/cuda/ordered_access.cuh"
#include "fabric/cuda/row_copies.cuh"
#include "protocol/block.hpp"

namespace switchyard::cuda {

/// Words of shared memory through which the team agrees. Two of each, used in turn: a thread can be at most one
/// agreement ahead of the slowest, because each has one barrier, so what it writes next is not what others still read.
struct team_words {
  std::uint64_t told[2];
  std::uint32_t sums[2][block_threads / 32];
};

class cuda_block {
 public:
  /// `team` and `scratch` are shared memory of the block.
  __device__ cuda_block(team_words& team, std::uint32_t* scratch) : team_(team), scratch_(scratch) {}

  __device__ std::uint32_t thread_index() const { return threadIdx.x; }
  __device__ static constexpr std::uint32_t num_threads() { return block_threads; }
  __device__ void sync() { __syncthreads(); }
  __device__ std::uint32_t* scratch(std::uint64_t) const { return scratch_; }
  __device__ static void scratch_or(std::uint32_t* word, std::uint32_t bits) { atomicOr(word, bits); }
  __device__ static void scratch_add(std::uint32_t* word, std::uint32_t amount) { atomicAdd(word, amount); }
  __device__ static std::uint64_t now_ns() { return global_timer_ns(); }

  template <class T>
  __device__ T broadcast(T value) {
    if (threadIdx.x == 0) told() = static_cast<std::uint64_t>(value);
    return static_cast<T>(agree());
  }

  __device__ std::uint32_t team_sum(std::uint32_t value) {
    const auto of_warp = __reduce_add_sync(~0U, value);
    auto* sums = team_.sums[turn_];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = of_warp;
    (void)agree();
    std::uint32_t sum = 0;
    for (std::uint32_t warp = 0; warp < block_threads / 32; ++warp) sum += sums[warp];
    return sum;
  }

  __device__ std::uint32_t take_ticket(std::uint32_t* word) {
    return broadcast(threadIdx.x == 0 ? add_relaxed_gpu_u32(word, 1) : 0U);
  }
  /// After the barrier thread 0 speaks for the team: its acquire and release cover what the others did before.
  __device__ std::uint32_t arrive(std::uint32_t* word) {
    __syncthreads();
    return broadcast(threadIdx.x == 0 ? add_acq_rel_gpu_u32(word, 1) : 0U);
  }
  __device__ static bool elect(std::uint32_t* word) { return swap_if_acq_rel_gpu_u32(word, 0, 1) == 0; }
  __device__ std::uint64_t first_entry(std::uint64_t* word, std::uint64_t now) {
    std::uint64_t stands = 0;
    if (threadIdx.x == 0) stands = swap_if_relaxed_gpu_u64(word, 0, now);
    return broadcast(stands == 0 ? now : stands);
  }
  __device__ static std::uint32_t load_u32(const std::uint32_t* word) { return load_relaxed_sys_u32(word); }
  __device__ static void store_u32(std::uint32_t* word, std::uint32_t value) { store_relaxed_sys_u32(word, value); }
  __device__ static void store_u64(std::uint64_t* word, std::uint64_t value) { store_relaxed_sys_u64(word, value); }
  __device__ static void announce(std::uint32_t* word, std::uint32_t value) { store_release_sys_u32(word, value); }

  __device__ static void fill_i32(std::int32_t* words, std::int32_t value, std::uint64_t count) {
    for (std::uint64_t i = threadIdx.x; i < count; i += block_threads) words[i] = value;
  }
  __device__ static void fill_nan(std::byte* out, std::uint64_t elements, dtype type) {
    for (std::uint64_t i = threadIdx.x; i < elements; i += block_threads) {
      if (type == dtype::fp32) {
        reinterpret_cast<std::uint32_t*>(out)[i] = protocol::canonical_nan_32;
      } else {
        reinterpret_cast<std::uint16_t*>(out)[i] = protocol::canonical_nan_16;
      }
    }
  }
  __device__ static void copy_local(std::byte* out, const std::byte* in, std::uint64_t bytes) {
    copy_bytes(out, in, bytes, {threadIdx.x, block_threads});
  }
  /// Into pinned memory of the host. The release pairs with the acquire in the host's look at the mailbox.
  __device__ static void record(layout::fault_mailbox* mailbox, const fault_record& record) {
    mailbox->record = record;
    store_release_sys_u64(&mailbox->sequence, 1);
  }

  __device__ void put(std::byte* out, const std::byte* in, std::uint64_t bytes) { copy_bytes(out, in, bytes, part_); }
  /// Short rows are loaded first and stored last, so that one wait serves them all.
  template <class RowAt>
  __device__ void put_rows(std::uint32_t count, RowAt row_at) {
    uint4 held[protocol::max_row_puts];
    const auto is_short = [&](const protocol::row_put& row) {
      const auto bits = reinterpret_cast<std::uintptr_t>(row.in) | reinterpret_cast<std::uintptr_t>(row.out) |
                        reinterpret_cast<std::uintptr_t>(row.other_out) | row.bytes;
      return widest_access(bits) == sizeof(uint4) && row.bytes <= part_.count * sizeof(uint4);
    };
    const auto has_word = [&](const protocol::row_put& row) { return part_.index * sizeof(uint4) < row.bytes; };
#pragma unroll
    for (std::uint32_t i = 0; i < protocol::max_row_puts; ++i) {
      if (i >= count) break;
      const auto row = row_at(i);
      if (is_short(row) && has_word(row)) held[i] = __ldcg(reinterpret_cast<const uint4*>(row.in) + part_.index);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto row = row_at(i);
      if (!is_short(row)) copy_bytes_twice(row.out, row.other_out, row.in, row.bytes, part_);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < protocol::max_row_puts; ++i) {
      if (i >= count) break;
      const auto row = row_at(i);
      if (!is_short(row) || !has_word(row)) continue;
      reinterpret_cast<uint4*>(row.out)[part_.index] = held[i];
      if (row.other_out != nullptr) reinterpret_cast<uint4*>(row.other_out)[part_.index] = held[i];
    }
  }
  /// Relaxed: the word is valid by its own tag. What it hands over are reads, of launches that have ended before.
  __device__ static void post(std::uint64_t* word, std::uint64_t value) { store_relaxed_sys_u64(word, value); }
  __device__ static std::uint64_t poll(const std::uint64_t* word) { return load_relaxed_sys_u64(word); }

  /// The barrier orders every thread's rows before each signalling thread's fence, and the fence orders them before its
  /// words. Pairs with the fence in wait_all of whoever sees a word.
  template <class WordAt>
  __device__ void publish(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    __syncthreads();
    bool fenced = false;
    for (std::uint64_t i = threadIdx.x; i < count; i += block_threads) {
      std::uint64_t* word = word_at(i);
      if (word == nullptr) continue;
      if (!fenced) fence_acq_rel_sys();
      fenced = true;
      store_relaxed_sys_u64(word, value);
    }
  }

  /// Each thread polls its own conditions; now and then the team meets, and what its last thread has seen of the
  /// notice, the clock and the probe meanwhile decides whether to go on. A thread whose conditions hold fences once;
  /// the barrier of the last meeting hands what it acquired to the whole team. Pairs with publish.
  template <class Ready, class Probe>
  __device__ protocol::wait_status wait_all(std::uint64_t count, Ready ready, const protocol::wait_bounds& bounds,
                                            Probe probe) {
    // A poll takes an access to the second-level cache, some 0.6 us; a look at notice, clock and probe takes several,
    // and a condition that comes true meanwhile waits for it.
    constexpr std::uint32_t polls_between_meetings = 4;
    constexpr std::uint32_t meetings_between_looks = 4;
    std::uint64_t next = threadIdx.x;
    bool fenced = next >= count;
    const auto advance = [&](std::uint32_t polls) {
      for (; next < count; next += block_threads) {
        while (!ready(next)) {
          if (--polls == 0) return false;
        }
      }
      if (!fenced) fence_acq_rel_sys();
      fenced = true;
      return true;
    };
    for (std::uint32_t meeting = 0;; ++meeting) {
      const bool mine = advance(polls_between_meetings);
      auto seen = protocol::wait_status::ready;
      // The last thread: the first ones are those that most often have something to poll.
      if (threadIdx.x == block_threads - 1 && meeting % meetings_between_looks == meetings_between_looks - 1) {
        if (bounds.notice != nullptr && layout::tag_of(poll(bounds.notice)) == bounds.incarnation) {
          seen = protocol::wait_status::notice;
        } else if (global_timer_ns() >= bounds.deadline_ns) {
          seen = protocol::wait_status::expired;
        } else if (probe()) {
          seen = protocol::wait_status::probed;
        }
      }
      if (threadIdx.x == block_threads - 1) told() = static_cast<std::uint64_t>(seen);
      const bool all = __syncthreads_and(mine ? 1 : 0) != 0;
      seen = static_cast<protocol::wait_status>(take_turn());
      if (all) return protocol::wait_status::ready;
      if (seen == protocol::wait_status::ready) continue;
      if (seen == protocol::wait_status::notice) return seen;
      // What came between the last look at the conditions and the look at the clock counts.
      return __syncthreads_and(advance(1) ? 1 : 0) != 0 ? protocol::wait_status::ready : seen;
    }
  }

  /// One warp a row, or several where there are fewer rows than warps, so that a small step uses the whole block.
  template <class Body>
  __device__ void for_each_row(std::uint64_t count, Body body) {
    std::uint32_t threads = 32;
    while (threads < block_threads && count * threads * 2 <= block_threads) threads *= 2;
    part_ = {threadIdx.x % threads, threads};
    for (std::uint64_t row = threadIdx.x / threads; row < count; row += block_threads / threads) body(row);
    part_ = {threadIdx.x, block_threads};
  }
  __device__ bool leads_row() const { return part_.index == 0; }

  __device__ void reduce_rows(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows,
                              std::uint64_t elements, dtype type) {
    if (num_rows == 0) {
      zero_elements(out, elements, type);  // exact +0
    } else if (num_rows == 1) {
      copy_bytes(out, rows[0], elements * itemsize(type), part_);  // bit for bit, whatever the bits are
    } else {
      sum_rows_of(type, out, rows, num_rows, elements, part_);
    }
  }

 private:
  __device__ std::uint64_t& told() { return team_.told[turn_]; }
  /// What was told this time; the next agreement uses the other words.
  __device__ std::uint64_t take_turn() {
    const auto value = told();
    turn_ ^= 1U;
    return value;
  }
  __device__ std::uint64_t agree() {
    __syncthreads();
    return take_turn();
  }

  __device__ void zero_elements(std::byte* out, std::uint64_t elements, dtype type) {
    for (std::uint64_t i = part_.index; i < elements; i += part_.count) {
      if (type == dtype::fp32) {
        reinterpret_cast<std::uint32_t*>(out)[i] = 0;
      } else {
        reinterpret_cast<std::uint16_t*>(out)[i] = 0;
      }
    }
  }

  team_words& team_;
  std::uint32_t* scratch_;
  team_part part_{threadIdx.x, block_threads};
  std::uint32_t turn_ = 0;
};

static_assert(protocol::block<cuda_block>);

}  // namespace switchyard::cuda
