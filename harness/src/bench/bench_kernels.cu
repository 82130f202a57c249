// SPDX-License-Identifier: Apache-2.0
#include "bench_kernels.hpp"

#include <string>

#include "expert_pattern.hpp"
#include "switchyard/spec/errors.hpp"

namespace switchyard::harness {
namespace {

constexpr std::uint64_t patience_ns = 3'000'000'000;
constexpr int copy_blocks = 128;  // of 1024 threads; 8 of them push all but 7 % of what the link takes
constexpr int copy_threads = 1024;

__device__ std::uint64_t clock_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ void store_flag(std::uint64_t* word, std::uint64_t value, flag_order order) {
  if (order == flag_order::relaxed) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  } else {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
  }
}

__device__ std::uint64_t load_flag(const std::uint64_t* word, flag_order order) {
  std::uint64_t value;
  if (order == flag_order::relaxed) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  } else {
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  }
  return value;
}

/// False when patience ran out. Looks at the clock now and then: reading it costs as much as a poll.
__device__ bool await_flag(const std::uint64_t* word, std::uint64_t value, flag_order order, std::uint64_t deadline) {
  for (std::uint32_t polls = 1;; ++polls) {
    if (load_flag(word, order) == value) return true;
    if (polls % 1024 == 0 && clock_ns() > deadline) return false;
  }
}

// Words [0, ranks) of a rank are its gate, word `ranks` is its end of the ping-pong.
__global__ void gate_kernel(const __grid_constant__ signal_words words, std::uint64_t epoch) {
  const auto peer = threadIdx.x;
  const auto mine = static_cast<std::uint32_t>(words.rank);
  store_flag(words.of_rank[peer] + mine * signal_words::spacing, epoch, flag_order::relaxed);
  (void)await_flag(words.of_rank[mine] + peer * signal_words::spacing, epoch, flag_order::relaxed,
                   clock_ns() + patience_ns);
}

__global__ void __launch_bounds__(copy_threads) copy_kernel(uint4* out, const uint4* in, std::uint64_t words) {
  constexpr int batch = 4;
  const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; first < words;
       first += batch * stride) {
    uint4 held[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (first + b * stride < words) held[b] = __ldcg(in + first + b * stride);
    }
#pragma unroll
    for (int b = 0; b < batch; ++b) {
      if (first + b * stride < words) out[first + b * stride] = held[b];
    }
  }
}

__global__ void ping_pong_kernel(const __grid_constant__ signal_words words, int peer, std::uint64_t rounds,
                                 flag_order order, std::uint64_t* took_ns) {
  auto* mine = words.of_rank[words.rank] + static_cast<std::uint64_t>(words.ranks) * signal_words::spacing;
  auto* theirs = words.of_rank[peer] + static_cast<std::uint64_t>(words.ranks) * signal_words::spacing;
  const bool serves = words.rank < peer;
  const auto start = clock_ns();
  const auto deadline = start + patience_ns;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    if (serves) store_flag(theirs, i, order);
    if (!await_flag(mine, i, order, deadline)) {
      *took_ns = 0;
      return;
    }
    if (!serves) store_flag(theirs, i, order);
  }
  *took_ns = clock_ns() - start;
  *mine = 0;  // the next exchange begins after a gate
}

__global__ void clock_exchange_kernel(const __grid_constant__ signal_words words, int peer, std::uint64_t rounds,
                                      std::uint64_t* times) {
  auto* mine = words.of_rank[words.rank] + static_cast<std::uint64_t>(words.ranks) * signal_words::spacing;
  auto* theirs = words.of_rank[peer] + static_cast<std::uint64_t>(words.ranks) * signal_words::spacing;
  const bool asks = words.rank < peer;
  const auto deadline = clock_ns() + patience_ns;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (asks) {
      times[2 * i] = clock_ns();
      store_flag(theirs, i + 1, flag_order::relaxed);
    }
    if (!await_flag(mine, i + 1, flag_order::relaxed, deadline)) {
      times[0] = 0;
      return;
    }
    const auto now = clock_ns();
    if (!asks) store_flag(theirs, i + 1, flag_order::relaxed);
    times[asks ? 2 * i + 1 : i] = now;
  }
  *mine = 0;  // the next exchange begins after a gate
}

__global__ void comparison_kernel(const std::uint32_t* a, const std::uint32_t* b, std::uint64_t words,
                                  unsigned long long* wrong) {
  unsigned long long count = 0;
  const auto stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += stride) {
    count += a[i] == b[i] ? 0U : 1U;
  }
  if (count != 0) atomicAdd(wrong, count);
}

__global__ void empty_kernel() {}

__global__ void stamp_kernel(std::uint64_t* at) { *at = clock_ns(); }

__global__ void tick_kernel(std::uint64_t* tick_ns) {
  std::uint64_t smallest = ~std::uint64_t{0};
  auto last = clock_ns();
  for (int i = 0; i < 4096; ++i) {
    const auto now = clock_ns();
    if (now != last && now - last < smallest) smallest = now - last;
    last = now;
  }
  *tick_ns = smallest;
}

__global__ void expert_kernel(std::uint16_t* out, std::uint32_t rank, std::uint64_t rows, std::uint32_t elements) {
  for (std::uint64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    for (std::uint32_t e = threadIdx.x; e < elements; e += blockDim.x) {
      out[row * elements + e] = expert_element(rank, static_cast<std::uint32_t>(row), e);
    }
  }
}

}  // namespace

void launch_gate(const signal_words& words, std::uint64_t epoch, cudaStream_t stream) {
  gate_kernel<<<1, words.ranks, 0, stream>>>(words, epoch);
  check_cuda(cudaGetLastError(), "gate");
}

void launch_copy(std::byte* out, const std::byte* in, std::uint64_t bytes, cudaStream_t stream) {
  copy_kernel<<<copy_blocks, copy_threads, 0, stream>>>(reinterpret_cast<uint4*>(out),
                                                        reinterpret_cast<const uint4*>(in), bytes / sizeof(uint4));
  check_cuda(cudaGetLastError(), "copy");
}

void launch_ping_pong(const signal_words& words, int peer, std::uint64_t rounds, flag_order order,
                      std::uint64_t* took_ns, cudaStream_t stream) {
  ping_pong_kernel<<<1, 1, 0, stream>>>(words, peer, rounds, order, took_ns);
  check_cuda(cudaGetLastError(), "ping-pong");
}

void launch_clock_exchange(const signal_words& words, int peer, std::uint64_t rounds, std::uint64_t* times,
                           cudaStream_t stream) {
  clock_exchange_kernel<<<1, 1, 0, stream>>>(words, peer, rounds, times);
  check_cuda(cudaGetLastError(), "exchange of clocks");
}

void launch_comparison(const std::byte* a, const std::byte* b, std::uint64_t bytes, unsigned long long* wrong,
                       cudaStream_t stream) {
  comparison_kernel<<<1024, 512, 0, stream>>>(reinterpret_cast<const std::uint32_t*>(a),
                                              reinterpret_cast<const std::uint32_t*>(b), bytes / 4, wrong);
  check_cuda(cudaGetLastError(), "comparing rows");
}

void launch_empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  check_cuda(cudaGetLastError(), "empty kernel");
}

void launch_stamp(std::uint64_t* at, cudaStream_t stream) {
  stamp_kernel<<<1, 1, 0, stream>>>(at);
  check_cuda(cudaGetLastError(), "clock kernel");
}

void launch_tick(std::uint64_t* tick_ns, cudaStream_t stream) {
  tick_kernel<<<1, 1, 0, stream>>>(tick_ns);
  check_cuda(cudaGetLastError(), "tick of the clock");
}

void launch_expert_rows(std::byte* out, std::uint32_t rank, std::uint64_t rows, std::uint64_t elements,
                        cudaStream_t stream) {
  expert_kernel<<<1024, 512, 0, stream>>>(reinterpret_cast<std::uint16_t*>(out), rank, rows,
                                          static_cast<std::uint32_t>(elements));
  check_cuda(cudaGetLastError(), "expert rows");
}

}  // namespace switchyard::harness
