// SPDX-License-Identifier: Apache-2.0
// Loads, stores and read-modify-writes with a stated order and scope, <op>_<order>_<scope>_<type>. All address global
// memory: this GPU's, a peer's, or pinned memory of the host.
#pragma once

#include <cstdint>

namespace switchyard::cuda {

__device__ __forceinline__ std::uint64_t load_relaxed_sys_u64(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

/// Costs what the relaxed one costs; a fence after it would cost twice as much again.
__device__ __forceinline__ std::uint64_t load_acquire_sys_u64(const std::uint64_t* word) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ std::uint32_t load_relaxed_sys_u32(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ void store_relaxed_sys_u64(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ __forceinline__ void store_relaxed_sys_u32(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ void store_release_sys_u64(std::uint64_t* word, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ __forceinline__ void store_release_sys_u32(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ std::uint32_t add_relaxed_gpu_u32(std::uint32_t* word, std::uint32_t amount) {
  std::uint32_t before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(amount) : "memory");
  return before;
}

__device__ __forceinline__ std::uint32_t add_acq_rel_gpu_u32(std::uint32_t* word, std::uint32_t amount) {
  std::uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(amount) : "memory");
  return before;
}

__device__ __forceinline__ std::uint32_t or_relaxed_gpu_u32(std::uint32_t* word, std::uint32_t bits) {
  std::uint32_t before;
  asm volatile("atom.relaxed.gpu.global.or.b32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(bits) : "memory");
  return before;
}

__device__ __forceinline__ void store_release_gpu_u32(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}

__device__ __forceinline__ std::uint32_t load_acquire_gpu_u32(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ std::uint32_t swap_if_acq_rel_gpu_u32(std::uint32_t* word, std::uint32_t expected,
                                                                 std::uint32_t value) {
  std::uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(before)
               : "l"(word), "r"(expected), "r"(value)
               : "memory");
  return before;
}

__device__ __forceinline__ std::uint64_t swap_if_relaxed_gpu_u64(std::uint64_t* word, std::uint64_t expected,
                                                                 std::uint64_t value) {
  std::uint64_t before;
  asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;"
               : "=l"(before)
               : "l"(word), "l"(expected), "l"(value)
               : "memory");
  return before;
}

/// Two words side by side, 16-byte aligned: each is an access by itself, and the two have no order.
__device__ __forceinline__ ulonglong2 load_relaxed_sys_2xu64(const std::uint64_t* words) {
  ulonglong2 values;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(values.x), "=l"(values.y) : "l"(words) : "memory");
  return values;
}

__device__ __forceinline__ void store_relaxed_sys_2xu64(std::uint64_t* words, ulonglong2 values) {
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(words), "l"(values.x), "l"(values.y) : "memory");
}

/// On shared memory of the block, which a compiler does not always know a pointer to be.
__device__ __forceinline__ void or_shared_u32(std::uint32_t* word, std::uint32_t bits) {
  asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(word))),
               "r"(bits)
               : "memory");
}

__device__ __forceinline__ void add_shared_u32(std::uint32_t* word, std::uint32_t amount) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(word))),
               "r"(amount)
               : "memory");
}

/// Orders everything before it, by whatever thread of the block, before everything after it, for every observer.
__device__ __forceinline__ void fence_acq_rel_sys() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

/// Nanoseconds of one clock for all multiprocessors of a GPU; never 0 once a machine is up.
__device__ __forceinline__ std::uint64_t global_timer_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

/// With programmatic launch: the next launch on the stream may be made ready once every block has said so or ended.
__device__ __forceinline__ void allow_dependent_launch() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// With programmatic launch: nothing that the previous launch may still touch before this. Else it returns at once.
__device__ __forceinline__ void wait_for_previous_launch() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace switchyard::cuda
