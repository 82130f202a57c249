// SPDX-License-Identifier: Apache-2.0
// Not the runtime's memset: its kernels are loaded when they are first used, which may wait for the whole device.
#include "fill_kernel.hpp"

#include <algorithm>
#include <cstdint>

#include "gpu_lane.hpp"

namespace switchyard::harness {
namespace {

constexpr int threads = 256;
constexpr std::size_t most_blocks = 64;

__global__ void __launch_bounds__(threads) fill_kernel(std::byte* place, std::uint8_t value, std::size_t bytes) {
  const auto first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const auto stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const auto to_alignment = (sizeof(uint4) - reinterpret_cast<std::uintptr_t>(place) % sizeof(uint4)) % sizeof(uint4);
  const auto head = to_alignment < bytes ? to_alignment : bytes;
  const auto words = (bytes - head) / sizeof(uint4);
  const std::uint32_t four = value * 0x01010101U;
  auto* aligned = reinterpret_cast<uint4*>(place + head);
  for (auto at = first; at < words; at += stride) aligned[at] = {four, four, four, four};
  const auto tail = head + words * sizeof(uint4);
  if (first < head) place[first] = static_cast<std::byte>(value);
  if (tail + first < bytes) place[tail + first] = static_cast<std::byte>(value);
}

}  // namespace

void launch_fill(std::byte* place, int value, std::size_t bytes, cudaStream_t stream) {
  const auto blocks = std::clamp<std::size_t>(bytes / (threads * sizeof(uint4)), 1, most_blocks);
  fill_kernel<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(place, static_cast<std::uint8_t>(value), bytes);
  check_cuda(cudaGetLastError(), "filling device memory");
}

}  // namespace switchyard::harness
