// SPDX-License-Identifier: Apache-2.0
// How a thread of the CUDA fabric's block accesses single words, each with its order and scope.
#pragma once

#include <cstdint>

#include "fabric/cuda/ordered_access.cuh"
#include "layout/round_state.hpp"
#include "protocol/lamport_words.hpp"

namespace switchyard::cuda {

struct word_access {
  __device__ static void scratch_or(std::uint32_t* word, std::uint32_t bits) { or_shared_u32(word, bits); }
  __device__ static void scratch_add(std::uint32_t* word, std::uint32_t amount) { add_shared_u32(word, amount); }
  __device__ static std::uint32_t draw_ticket(std::uint32_t* word) { return add_relaxed_gpu_u32(word, 1); }
  /// After a barrier a thread speaks for the team: its acquire and release cover what the others did before.
  __device__ static std::uint32_t arrive(std::uint32_t* word, std::uint32_t amount) {
    return add_acq_rel_gpu_u32(word, amount);
  }
  __device__ static bool elect(std::uint32_t* word) { return swap_if_acq_rel_gpu_u32(word, 0, 1) == 0; }
  __device__ static std::uint32_t fetch_or(std::uint32_t* word, std::uint32_t bits) {
    return or_relaxed_gpu_u32(word, bits);
  }
  __device__ static bool swap_if(std::uint32_t* word, std::uint32_t expected, std::uint32_t value) {
    return swap_if_acq_rel_gpu_u32(word, expected, value) == expected;
  }
  __device__ static void depart(std::uint32_t* word, std::uint32_t value) { store_release_gpu_u32(word, value); }
  __device__ static std::uint32_t load_departed(const std::uint32_t* word) { return load_acquire_gpu_u32(word); }
  __device__ static std::uint64_t first_entry(std::uint64_t* word, std::uint64_t now) {
    const auto stands = swap_if_relaxed_gpu_u64(word, 0, now);
    return stands == 0 ? now : stands;
  }
  __device__ static std::uint32_t load_u32(const std::uint32_t* word) { return load_relaxed_sys_u32(word); }
  __device__ static void store_u32(std::uint32_t* word, std::uint32_t value) { store_relaxed_sys_u32(word, value); }
  __device__ static void store_u64(std::uint64_t* word, std::uint64_t value) { store_relaxed_sys_u64(word, value); }
  __device__ static void announce(std::uint32_t* word, std::uint32_t value) { store_release_sys_u32(word, value); }
  /// Into pinned memory of the host. The release pairs with the acquire in the host's look at the mailbox.
  __device__ static void record(layout::fault_mailbox* mailbox, const fault_record& record) {
    mailbox->record = record;
    store_release_sys_u64(&mailbox->sequence, 1);
  }
  __device__ static void put_u32(std::uint32_t* out, std::uint32_t value) { store_relaxed_sys_u32(out, value); }
  /// Relaxed: the word is valid by its own tag. What it hands over are reads, of launches that have ended before.
  __device__ static void post(std::uint64_t* word, std::uint64_t value) { store_relaxed_sys_u64(word, value); }
  __device__ static std::uint64_t poll(const std::uint64_t* word) { return load_relaxed_sys_u64(word); }

  __device__ static std::uint64_t poll_flag(const std::uint64_t* word) { return load_acquire_sys_u64(word); }
  __device__ static std::uint64_t load_word(const std::uint64_t* word) { return load_relaxed_sys_u64(word); }
  __device__ static void store_word(std::uint64_t* word, std::uint64_t value) { store_relaxed_sys_u64(word, value); }
  __device__ static protocol::word_pair load_words(const std::uint64_t* words) {
    const auto pair = load_relaxed_sys_2xu64(words);
    return {pair.x, pair.y};
  }
  __device__ static void store_words(std::uint64_t* words, protocol::word_pair pair) {
    store_relaxed_sys_2xu64(words, {pair.first, pair.second});
  }
};

}  // namespace switchyard::cuda
