// SPDX-License-Identifier: Apache-2.0
#include "test_kernels.hpp"

#include <stdexcept>
#include <string>

namespace switchyard::test {
namespace {

void check_launch(cudaError_t result) {
  if (result != cudaSuccess)
    throw std::runtime_error(std::string("a kernel of the tests: ") + cudaGetErrorString(result));
}

__device__ std::uint64_t clock_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ std::uint64_t first_index() { return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::uint64_t index_stride() { return static_cast<std::uint64_t>(gridDim.x) * blockDim.x; }

/// False when it took too long.
__device__ bool await(const std::uint32_t* word, std::uint32_t least, std::uint64_t patience_ns) {
  const auto deadline = clock_ns() + patience_ns;
  while (*reinterpret_cast<const volatile std::uint32_t*>(word) < least) {
    if (clock_ns() > deadline) return false;
    __nanosleep(500);
  }
  return true;
}

__global__ void hold_kernel(std::uint32_t* arrived, const std::uint32_t* release) {
  if (threadIdx.x != 0) return;
  atomicAdd_system(arrived, 1U);
  (void)await(release, 1, 20'000'000'000);
}

__global__ void meeting_kernel(std::uint32_t* mine, const std::uint32_t* peers, std::uint32_t round,
                               std::uint32_t* given_up) {
  if (threadIdx.x == 0) {
    atomicAdd_system(mine, 1U);
    if (!await(peers, round * gridDim.x, 10'000'000'000)) atomicAdd_system(given_up, 1U);
  }
  __syncthreads();
}

__global__ void copy_kernel(std::byte* to, const std::byte* from, std::size_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  for (auto at = first_index(); at < bytes; at += index_stride()) to[at] = from[at];
}

__global__ void zombie_kernel(const __grid_constant__ haunted_places where, std::uint32_t value, std::uint32_t* rounds,
                              const std::uint32_t* release) {
  const auto deadline = clock_ns() + 20'000'000'000;
  const auto word = value * 0x01010101U;
  while (*reinterpret_cast<const volatile std::uint32_t*>(release) == 0 && clock_ns() < deadline) {
    for (int i = 0; i < where.count; ++i) {
      auto* units = reinterpret_cast<uint4*>(where.places[i]);
      for (auto at = first_index(); at < where.bytes[i] / sizeof(uint4); at += index_stride()) {
        asm volatile("st.relaxed.sys.global.v4.b32 [%0], {%1, %1, %1, %1};" ::"l"(units + at), "r"(word) : "memory");
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd_system(rounds, 1U);
  }
}

__global__ void fill_kernel(std::byte* place, std::byte value, std::size_t bytes) {
  for (auto at = first_index(); at < bytes; at += index_stride()) place[at] = value;
}

__global__ void compare_kernel(const std::byte* rows, const std::byte* expected, std::size_t row_bytes,
                               std::size_t num_rows, std::uint64_t* wrong) {
  for (std::size_t row = blockIdx.x; row < num_rows; row += gridDim.x) {
    int differs = 0;
    for (std::size_t at = threadIdx.x; at < row_bytes; at += blockDim.x) {
      differs |= rows[row * row_bytes + at] != expected[row * row_bytes + at];
    }
    if (__syncthreads_or(differs) != 0 && threadIdx.x == 0) {
      atomicAdd(reinterpret_cast<unsigned long long*>(wrong), 1ULL);
    }
  }
}

__global__ void scale_kernel(std::uint16_t* out, const std::uint16_t* rows, std::size_t elements,
                             std::uint16_t factor) {
  constexpr std::uint16_t one = 0x3F80;
  for (auto at = first_index(); at < elements; at += index_stride()) {
    const auto value = rows[at];
    out[at] = value == 0 ? 0 : value == one ? factor : 0x7FFF;
  }
}

// The finaliser of MurmurHash3, then without the top exponent bit of either half.
__device__ std::uint32_t pattern_at(std::uint64_t index, std::uint32_t seed) {
  auto word = static_cast<std::uint32_t>(index ^ index >> 32) + seed;
  word = (word ^ word >> 16) * 0x85EBCA6BU;
  word = (word ^ word >> 13) * 0xC2B2AE35U;
  return (word ^ word >> 16) & 0xBFFFBFFFU;
}

__global__ void pattern_kernel(std::uint32_t* out, std::size_t words, std::uint32_t seed) {
  for (auto at = first_index(); at < words; at += index_stride()) out[at] = pattern_at(at, seed);
}

__global__ void check_pattern_kernel(const std::uint32_t* words, std::size_t count, std::uint32_t seed,
                                     std::uint64_t* wrong) {
  unsigned long long found = 0;
  for (auto at = first_index(); at < count; at += index_stride()) found += words[at] != pattern_at(at, seed) ? 1 : 0;
  if (found != 0) atomicAdd(reinterpret_cast<unsigned long long*>(wrong), found);
}

}  // namespace

void load_test_kernels(int num_devices) {
  for (int device = 0; device < num_devices; ++device) {
    check_launch(cudaSetDevice(device));
    launch_copy(nullptr, nullptr, 0, start::after_the_launch_before, nullptr);
    launch_fill(nullptr, std::byte{0}, 0, nullptr);
    launch_compare(nullptr, nullptr, 1, 0, nullptr, nullptr);
    launch_scale(nullptr, nullptr, 0, 0, nullptr);
    launch_pattern(nullptr, 0, 0, nullptr);
    launch_check_pattern(nullptr, 0, 0, nullptr, nullptr);
    cudaFuncAttributes attributes{};  // these would count
    check_launch(cudaFuncGetAttributes(&attributes, hold_kernel));
    check_launch(cudaFuncGetAttributes(&attributes, meeting_kernel));
    check_launch(cudaFuncGetAttributes(&attributes, zombie_kernel));
    check_launch(cudaDeviceSynchronize());
  }
}

void launch_holders(int multiprocessors, std::uint32_t* arrived, const std::uint32_t* release, cudaStream_t stream) {
  int device = 0;
  int shared = 0;
  check_launch(cudaGetDevice(&device));
  check_launch(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  check_launch(cudaFuncSetAttribute(hold_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  hold_kernel<<<multiprocessors, 32, shared, stream>>>(arrived, release);
  check_launch(cudaGetLastError());
}

void launch_meeting(std::uint32_t* mine, const std::uint32_t* peers, std::uint32_t round, std::uint32_t* given_up,
                    cudaStream_t stream) {
  meeting_kernel<<<32, 512, 0, stream>>>(mine, peers, round, given_up);
  check_launch(cudaGetLastError());
}

void launch_copy(std::byte* to, const std::byte* from, std::size_t bytes, start when, cudaStream_t stream) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = when == start::early ? 1 : 0;
  check_launch(cudaLaunchKernelEx(&config, copy_kernel, to, from, bytes));
}

void launch_zombie(const haunted_places& places, std::byte value, std::uint32_t* rounds, const std::uint32_t* release,
                   cudaStream_t stream) {
  zombie_kernel<<<4, 256, 0, stream>>>(places, std::to_integer<std::uint32_t>(value), rounds, release);
  check_launch(cudaGetLastError());
}

void launch_fill(std::byte* place, std::byte value, std::size_t bytes, cudaStream_t stream) {
  fill_kernel<<<128, 256, 0, stream>>>(place, value, bytes);
  check_launch(cudaGetLastError());
}

void launch_compare(const std::byte* rows, const std::byte* expected, std::size_t row_bytes, std::size_t num_rows,
                    std::uint64_t* wrong, cudaStream_t stream) {
  compare_kernel<<<64, 256, 0, stream>>>(rows, expected, row_bytes, num_rows, wrong);
  check_launch(cudaGetLastError());
}

void launch_scale(std::uint16_t* out, const std::uint16_t* rows, std::size_t elements, std::uint16_t factor,
                  cudaStream_t stream) {
  scale_kernel<<<128, 256, 0, stream>>>(out, rows, elements, factor);
  check_launch(cudaGetLastError());
}

void launch_pattern(std::uint32_t* out, std::size_t words, std::uint32_t seed, cudaStream_t stream) {
  pattern_kernel<<<256, 256, 0, stream>>>(out, words, seed);
  check_launch(cudaGetLastError());
}

void launch_check_pattern(const std::uint32_t* words, std::size_t count, std::uint32_t seed, std::uint64_t* wrong,
                          cudaStream_t stream) {
  check_pattern_kernel<<<256, 256, 0, stream>>>(words, count, seed, wrong);
  check_launch(cudaGetLastError());
}

}  // namespace switchyard::test
