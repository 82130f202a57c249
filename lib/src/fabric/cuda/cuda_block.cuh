// SPDX-License-Identifier: Apache-2.0
// The block of the CUDA fabric: a team of threads on one multiprocessor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fabric/cuda/block_shape.hpp"
#include "fabric/cuda/bulk_copier.cuh"
#include "fabric/cuda/lamport_units.cuh"
#include "fabric/cuda/owner_walk.cuh"
#include "fabric/cuda/row_copies.cuh"
#include "fabric/cuda/word_access.cuh"
#include "protocol/block.hpp"

namespace switchyard::cuda {

inline constexpr std::uint32_t told_bytes = 32;

/// Words of shared memory through which the team agrees. Two of each, used in turn: a thread can be at most one
/// agreement ahead of the slowest, because each has one barrier, so what it writes next is not what others still read.
struct team_words {
  ulonglong2 told[2][told_bytes / sizeof(ulonglong2)];
  std::uint32_t sums[2][wide_block / 32];
  std::uint64_t loaded[narrow_block / 32][bulk_stage_count];  ///< barriers of the warps' bulk copies
};

struct no_copier {};

/// A CTA of `block_threads` threads. Wide ones copy rows by loads and stores, which is the faster for the first row;
/// narrow ones by the engine for bulk copies, a row a warp.
/// Sums are of `summed` elements; wide blocks move rows of multiples of 4 bytes by Lamport.
template <std::uint32_t block_threads, block_kind kind = block_kind::full, dtype summed = dtype::bf16>
class cuda_block : public word_access {
  static constexpr bool copies_in_bulk = block_threads == narrow_block;
  static constexpr std::uint32_t first_of_header_warp = block_threads - 32;

 public:
  /// `team` and `shared` are shared memory of the block: the stages of a narrow block, then the scratch.
  __device__ cuda_block(team_words& team, std::byte* shared)
      : team_(team), scratch_(reinterpret_cast<std::uint32_t*>(shared + stage_bytes_of_block(block_threads))) {
    if constexpr (copies_in_bulk) {
      copier_ = bulk_copier(reinterpret_cast<bulk_stages*>(shared)[threadIdx.x / 32], team.loaded[threadIdx.x / 32]);
      if (threadIdx.x % 32 == 0) copier_.open();
    }
  }

  __device__ static std::uint32_t block_index() { return blockIdx.x; }
  __device__ std::uint32_t thread_index() const { return team_part_.index; }
  __device__ std::uint32_t num_threads() const { return team_part_.count; }
  __device__ void sync() { __syncthreads(); }
  __device__ std::uint32_t* scratch(std::uint64_t) const { return scratch_; }
  __device__ static std::uint64_t now_ns() { return global_timer_ns(); }
  static constexpr bool may_mask = kind == block_kind::full;
  static constexpr bool may_gather = may_mask;
  static constexpr bool checks_headers = kind != block_kind::unchecked;
  static constexpr std::uint64_t patience_ns = 300'000;

  template <class T>
  __device__ T broadcast(T value) {
    static_assert(sizeof(T) <= told_bytes && std::is_trivially_copyable_v<T>);
    if (threadIdx.x == 0) *reinterpret_cast<T*>(team_.told[turn_]) = value;
    __syncthreads();
    return *reinterpret_cast<const T*>(team_.told[take_turn()]);
  }

  __device__ static bool all(bool mine) { return __syncthreads_and(mine ? 1 : 0) != 0; }
  /// The last warp: it has the fewest units of a row.
  __device__ static bool leads() { return threadIdx.x >= first_of_header_warp; }
  __device__ static bool admits() {
    return threadIdx.x >= first_of_header_warp - 32 && threadIdx.x < first_of_header_warp;
  }
  __device__ static std::uint32_t lane() { return threadIdx.x % 32; }
  __device__ static std::uint32_t lanes() { return 32; }
  __device__ std::uint32_t team_sum(std::uint32_t value) {
    const auto of_warp = __reduce_add_sync(~0U, value);
    auto* sums = team_.sums[turn_];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = of_warp;
    __syncthreads();
    (void)take_turn();
    std::uint32_t sum = 0;
    SWITCHYARD_ROLLED
    for (std::uint32_t warp = 0; warp < block_threads / 32; ++warp) sum += sums[warp];
    return sum;
  }

  __device__ static void fill_i32(std::int32_t* words, std::int32_t value, std::uint64_t count) {
    SWITCHYARD_ROLLED
    for (std::uint64_t i = threadIdx.x; i < count; i += block_threads) words[i] = value;
  }
  __device__ static void fill_nan(std::byte* out, std::uint64_t elements, dtype type) {
    SWITCHYARD_ROLLED
    for (std::uint64_t i = threadIdx.x; i < elements; i += block_threads) {
      if (type == dtype::fp32) {
        reinterpret_cast<std::uint32_t*>(out)[i] = protocol::canonical_nan_32;
      } else {
        reinterpret_cast<std::uint16_t*>(out)[i] = protocol::canonical_nan_16;
      }
    }
  }
  __device__ static void copy_local(std::byte* out, const std::byte* in, std::uint64_t bytes) {
    // Long only where a large step's ids are moved: by pieces that 32 bits can count.
    constexpr std::uint64_t piece = std::uint64_t{1} << 30;
    SWITCHYARD_ROLLED
    for (; bytes > piece; bytes -= piece, out += piece, in += piece)
      copy_bytes(out, in, piece, common_access(out, in, piece), whole_team());
    const auto rest = static_cast<std::uint32_t>(bytes);
    copy_bytes(out, in, rest, common_access(out, in, rest), whole_team());
  }
  __device__ static void allow_next_launch() { allow_dependent_launch(); }

  using owners = owner_walk<block_threads, may_mask>;
  template <class Visit>
  __device__ void visit_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                               std::uint32_t slots, Visit visit) {
    owners::visit(first, last, routing, slots, team_part_, visit);
  }
  template <class Mark>
  __device__ static void mark_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                                     std::uint32_t ranks, Mark mark) {
    owners::mark(first, last, routing, ranks, mark);
  }
  /// The last warp does the other; where copies go on by themselves, the team does it before them: peers wait for
  /// headers before they look for rows.
  template <class One, class Other>
  __device__ void side_by_side(One one, Other other) {
    if constexpr (copies_in_bulk) {
      other();
      one();
    } else {
      if (threadIdx.x >= first_of_header_warp) {
        part_ = team_part_ = {threadIdx.x - first_of_header_warp, 32};
        other();
      } else {
        part_ = team_part_ = {threadIdx.x, first_of_header_warp};
        one();
      }
      part_ = team_part_ = whole_team();
    }
  }

  __device__ void put(std::byte* out, const std::byte* in, std::uint64_t bytes) {
    const auto size = static_cast<std::uint32_t>(bytes);
    const auto width = widest_access(reinterpret_cast<std::uintptr_t>(in) | size);
    if constexpr (copies_in_bulk) {
      if (size >= least_bulk_bytes && width == sizeof(uint4)) {
        if (part_.index != 0) return;
        copier_.begin(in, size);
        return copier_.finish(in, size, 1, [&](std::uint32_t) { return out; });
      }
    }
    copy_bytes(out, in, size, width, part_);
  }
  template <class TargetAt>
  __device__ void put_rows(const protocol::payload_list& payloads, std::uint64_t token, std::uint32_t targets,
                           TargetAt target_at) {
    if constexpr (copies_in_bulk) {
      put_rows_in_bulk(payloads, token, targets, target_at);
    } else {
      copy_token(payloads, token, targets, target_at, false, part_);
    }
  }
  /// The barrier orders every thread's rows before each signalling thread's fence, and the fence orders them before its
  /// words. Pairs with poll_flag of whoever sees a word.
  template <class WordAt>
  __device__ void publish(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    // Where the first word lies is found out while others still store.
    std::uint64_t* word = threadIdx.x < count ? word_at(threadIdx.x) : nullptr;
    complete_puts();
    if (threadIdx.x >= count) return;
    fence_acq_rel_sys();
    if (word != nullptr) store_relaxed_sys_u64(word, value);
    SWITCHYARD_ROLLED
    for (std::uint64_t i = threadIdx.x + block_threads; i < count; i += block_threads) {
      word = word_at(i);
      if (word != nullptr) store_relaxed_sys_u64(word, value);
    }
  }

  /// Stores of earlier launches happen before all of this one, so no barrier has to come before the fence. A thread
  /// that has fenced stores the words that publish_released gives it.
  __device__ static void release_launches(std::uint64_t count) {
    if (threadIdx.x < count) fence_acq_rel_sys();
  }
  template <class WordAt>
  __device__ static void publish_released(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    SWITCHYARD_ROLLED
    for (std::uint64_t i = threadIdx.x; i < count; i += block_threads) {
      if (auto* word = word_at(i)) store_relaxed_sys_u64(word, value);
    }
  }

  /// The first warp speaks for the team. Its first thread acquires what the teams of earlier calls released, and its
  /// barrier hands that on; so the fence of each thread that stores a word is cumulative over it.
  template <class WordAt>
  __device__ void publish_when_last(std::uint32_t* arrived, std::uint32_t total, std::uint64_t count, WordAt word_at,
                                    std::uint64_t value) {
    complete_puts();
    if (threadIdx.x >= 32) return;
    std::uint32_t before = 0;
    if (total > 1) before = __shfl_sync(~0U, threadIdx.x == 0 ? arrive(arrived, 1) : 0U, 0);
    __syncwarp();
    if (before + 1 != total || threadIdx.x >= count) return;
    fence_acq_rel_sys();
    SWITCHYARD_ROLLED
    for (std::uint64_t i = threadIdx.x; i < count; i += 32) store_relaxed_sys_u64(word_at(i), value);
  }

  /// Each thread polls its own conditions; now and then the team meets, and what its last thread has seen of the
  /// notice, the clock and the probe meanwhile decides whether to go on. The barrier of the last meeting hands what the
  /// threads acquired, each by its own polls, to the whole team.
  template <class Ready, class Probe>
  __device__ protocol::wait_status wait_all(std::uint64_t count, Ready ready, const protocol::wait_bounds& bounds,
                                            Probe probe) {
    std::uint64_t next = threadIdx.x;
    const auto advance = [&](std::uint32_t polls) {
      SWITCHYARD_ROLLED
      for (; next < count; next += block_threads) {
        while (!ready(next)) {
          if (--polls == 0) return false;
        }
      }
      return true;
    };
    return wait_until(advance, bounds, probe);
  }

  template <class Advance, class Probe>
  __device__ __forceinline__ protocol::wait_status wait_until(Advance&& advance, const protocol::wait_bounds& bounds,
                                                              Probe probe) {
    // A poll takes an access to the second-level cache, a third of a microsecond; a look at notice, clock and probe
    // takes several. A thread whose conditions hold comes to the meeting at once.
    constexpr std::uint32_t polls_between_meetings = 8;
    constexpr std::uint32_t meetings_between_looks = 2;
    SWITCHYARD_ROLLED
    for (std::uint32_t meeting = 0;; ++meeting) {
      const bool mine = advance(polls_between_meetings);
      auto seen = protocol::wait_status::ready;
      // The last thread: the first ones are those that most often have something to poll.
      if (threadIdx.x == block_threads - 1 && meeting % meetings_between_looks == meetings_between_looks - 1) {
        if (bounds.notice != nullptr && protocol::is_told<may_mask>(bounds, poll(bounds.notice))) {
          seen = protocol::wait_status::notice;
        } else if (global_timer_ns() >= bounds.deadline_ns) {
          seen = protocol::wait_status::expired;
        } else if (probe()) {
          seen = protocol::wait_status::probed;
        }
      }
      auto* said = reinterpret_cast<protocol::wait_status*>(team_.told[turn_]);
      if (threadIdx.x == block_threads - 1) *said = seen;
      const bool all = __syncthreads_and(mine ? 1 : 0) != 0;
      seen = *said;
      (void)take_turn();
      if (all) return protocol::wait_status::ready;
      if (seen == protocol::wait_status::ready) continue;
      // What came between the last look at the conditions and the look at the clock counts.
      return __syncthreads_and(advance(1) ? 1 : 0) != 0 ? protocol::wait_status::ready : seen;
    }
  }

  /// One warp a row, or several where there are fewer rows than warps, so that a small step uses the whole block.
  template <class Body>
  __device__ void for_each_row(std::uint64_t count, Body body) {
    const auto mine = part_of(count);
    part_ = mine.part;
    SWITCHYARD_ROLLED
    for (std::uint64_t row = mine.row; row < count; row += mine.step) body(row);
    part_ = team_part_;
  }

  template <class RowAt>
  __device__ void sum_rows(std::byte* out, std::uint32_t num_rows, RowAt row_at, std::uint64_t elements, dtype type) {
    const auto count = static_cast<std::uint32_t>(elements);
    if (num_rows == 0) return zero_elements(out, elements, type);  // exact +0
    if (num_rows == 1) {
      // Bit for bit, whatever the bits are.
      const auto bytes = count * static_cast<std::uint32_t>(itemsize(type));
      const auto* row = row_at(0);
      return copy_bytes(out, row, bytes, common_access(out, row, bytes), part_);
    }
    if constexpr (summed == dtype::bf16) sum_elements<bf16_unit, words_at_once>(out, num_rows, row_at, count, part_);
    if constexpr (summed == dtype::fp16) sum_elements<fp16_unit, words_at_once>(out, num_rows, row_at, count, part_);
    if constexpr (summed == dtype::fp32) sum_elements<fp32_unit, words_at_once>(out, num_rows, row_at, count, part_);
  }

  __device__ static protocol::word_pair load_unit(const protocol::located_unit& unit, std::uint64_t row) {
    const auto value = load_plain_unit<copies_in_bulk>(unit, unit.of_row(row));
    return {value.x, value.y};
  }
  __device__ static void store_unit(const protocol::located_unit& unit, std::byte* at, protocol::word_pair value) {
    store_plain_unit<copies_in_bulk>(unit, at, {value.first, value.second});
  }
  using held_ids = std::int32_t;  ///< one of the token's, by lane
  __device__ static held_ids ids_of(const protocol::token_ids& routing, std::uint32_t token) {
    const auto k = threadIdx.x % 32;
    if (token >= routing.tokens || k >= routing.top_k) return -1;
    return __ldcg(routing.ids + protocol::wide_product(token, routing.top_k) + k);
  }
  template <class Placed, class Other>
  __device__ static std::uint32_t visit_ranks(const protocol::token_ids& routing, held_ids ids, std::uint32_t ranks,
                                              const Placed& placed, const Other& other) {
    return visit_ranks_of<may_mask>(routing, ids, ranks, placed, other);
  }
  using unit_sum = cuda::unit_sum;
  __device__ static void add_unit(unit_sum& sum, protocol::word_pair words, bool first, bool alone, dtype) {
    add_to_unit<summed>(sum, words, first, alone);
  }
  __device__ static protocol::word_pair rounded_unit(const unit_sum& sum, bool alone, dtype) {
    return rounded<summed>(sum, alone);
  }

  __device__ static team_part whole_team() { return {threadIdx.x, block_threads}; }

 protected:
  /// The threads that have the row at hand.
  __device__ team_part part() const { return part_; }

 private:
  /// All rows of the team are stored, and a thread that fences from here on speaks for them.
  __device__ void complete_puts() {
    if constexpr (copies_in_bulk) {
      if (threadIdx.x % 32 == 0) copier_.complete_all();
    }
    __syncthreads();
  }

  static constexpr std::uint32_t words_at_once = copies_in_bulk ? 4 : 2;  ///< of a row, by a thread that sums

  template <class TargetAt>
  __device__ void put_rows_in_bulk(const protocol::payload_list& payloads, std::uint64_t token, std::uint32_t targets,
                                   const TargetAt& target_at) {
    // The first payload is the long one. The others are copied while it is being loaded.
    const auto& payload = payloads.items[0];
    const bool in_bulk = payloads.count != 0 && goes_in_bulk(payload);
    const auto* in = payload.data + protocol::wide_product(token, payload.row_bytes);
    const bool leads = in_bulk && part_.index == 0;
    if (targets == 0) return;
    if (leads) copier_.begin(in, payload.row_bytes);
    copy_token(payloads, token, targets, target_at, in_bulk, part_);
    if (!leads) return;
    copier_.finish(in, payload.row_bytes, targets, [&](std::uint32_t t) { return target_at(t).in_region_of(payload); });
  }
  __device__ static bool goes_in_bulk(const protocol::payload_source& payload) {
    return payload.row_bytes >= least_bulk_bytes && payload.access_bytes == sizeof(uint4);
  }

  /// How a team takes rows: this thread's part begins with `row`, and goes on with every step-th.
  struct row_share {
    team_part part;
    std::uint32_t row;
    std::uint32_t step;
  };
  __device__ row_share part_of(std::uint64_t count) const {
    if (count <= 1) return {team_part_, 0, 1};
    constexpr std::uint32_t warps = block_threads / 32;
    const auto rows = static_cast<std::uint32_t>(count < warps ? count : warps);
    const auto shift = static_cast<std::uint32_t>(__clz(static_cast<int>(rows - 1)) - __clz(warps - 1));
    const auto threads = 32U << shift;
    const auto mine = team_part_.index / 32 >> shift;
    const auto rest = team_part_.count - mine * threads;  // the last part may be short of a warp
    return {{team_part_.index - mine * threads, rest < threads ? rest : threads},
            mine,
            (team_part_.count + threads - 1) / 32 >> shift};
  }

  /// Which words this agreement used; the next one uses the others.
  __device__ std::uint32_t take_turn() {
    const auto turn = turn_;
    turn_ ^= 1U;
    return turn;
  }

  __device__ void zero_elements(std::byte* out, std::uint64_t elements, dtype type) {
    SWITCHYARD_ROLLED
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
  team_part team_part_ = whole_team();
  team_part part_ = whole_team();
  std::uint32_t turn_ = 0;
  [[no_unique_address]] std::conditional_t<copies_in_bulk, bulk_copier, no_copier> copier_;  ///< of this warp
};

static_assert(protocol::block<cuda_block<wide_block>>);
static_assert(protocol::block<cuda_block<narrow_block>>);

}  // namespace switchyard::cuda
