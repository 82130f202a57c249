// SPDX-License-Identifier: Apache-2.0
// Few threads: where kernels of other ranks wait on the device, little of it is free.
#include <bit>

#include "gpu_lane.hpp"
#include "replay_kernels.hpp"
#include "switchyard/harness/canary.hpp"
#include "switchyard/reference/float_conversion.hpp"
#include "switchyard/reference/quantise.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {
namespace {

constexpr int blocks = 128;
constexpr int threads = 256;

__device__ std::uint64_t first_index() { return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ std::uint64_t index_stride() { return static_cast<std::uint64_t>(gridDim.x) * blockDim.x; }

__global__ void __launch_bounds__(threads) keep_kernel(const __grid_constant__ viewed_areas what) {
  for (int i = 0; i < what.count; ++i) {
    const auto& area = what.areas[i];
    const auto words = area.bytes / sizeof(uint4);
    const auto* from = reinterpret_cast<const uint4*>(area.view);
    auto* to = reinterpret_cast<uint4*>(area.kept);
    for (auto at = first_index(); at < words; at += index_stride()) to[at] = from[at];
    for (auto at = words * sizeof(uint4) + first_index(); at < area.bytes; at += index_stride()) {
      area.kept[at] = area.view[at];
    }
  }
}

__global__ void __launch_bounds__(threads)
    poison_kernel(const __grid_constant__ viewed_areas what, const replay_words* words) {
  const auto poison = words->poison;
  for (int i = 0; i < what.count; ++i) {
    const auto& area = what.areas[i];
    const auto whole = area.bytes / sizeof(poison);
    auto* to = reinterpret_cast<std::uint64_t*>(area.view);
    for (auto at = first_index(); at < whole; at += index_stride()) to[at] = poison;
    for (auto at = whole * sizeof(poison) + first_index(); at < area.bytes; at += index_stride()) {
      area.view[at] = static_cast<std::byte>(poison & 0xFFU);
    }
  }
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  const auto clock = [] {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    return now;
  };
  for (const auto until = clock() + words->pause_ns; clock() < until;) __nanosleep(1000);
}

struct bf16_rows {
  using bits = std::uint16_t;
  static __device__ float widen(bits value) { return reference::bf16_to_fp32(value); }
  static __device__ bits narrow(float value) { return reference::fp32_to_bf16(value); }
};
struct fp16_rows {
  using bits = std::uint16_t;
  static __device__ float widen(bits value) { return reference::fp16_to_fp32(value); }
  static __device__ bits narrow(float value) { return reference::fp32_to_fp16(value); }
};
struct fp32_rows {
  using bits = std::uint32_t;
  static __device__ float widen(bits value) { return std::bit_cast<float>(value); }
  static __device__ bits narrow(float value) { return reference::fp32_to_bits(value); }
};

/// The factors of the slots that the rank serves, in slot order.
struct factor_list {
  float values[max_top_k];
  int count;
};

__device__ void find_factors(const expert_shape& shape, std::uint64_t row, factor_list& factors) {
  const auto* ids = shape.ids + row * static_cast<std::uint64_t>(shape.top_k);
  const auto* weights = shape.weights + row * static_cast<std::uint64_t>(shape.top_k);
  factors.count = 0;
  for (int slot = 0; slot < shape.top_k; ++slot) {
    const auto id = ids[slot];
    if (id < shape.first_expert || id >= shape.first_expert + shape.num_owned) continue;
    const float scale = shape.identity ? 1.0F : static_cast<float>(id % 64 + 1) * 0x1p-6F;
    factors.values[factors.count++] = __fmul_rn(shape.weights == nullptr ? 1.0F : weights[slot], scale);
  }
}

/// Element `index` of a row of codes and the scale of its block.
__device__ float scaled_element(dispatch_format format, const std::byte* row, const std::byte* scales,
                                std::uint64_t index) {
  std::uint32_t code = static_cast<std::uint8_t>(row[reference::is_four_bit(format) ? index / 2 : index]);
  if (reference::is_four_bit(format)) code = code >> (4 * (index % 2)) & 0xFU;
  std::uint32_t bits = 0;
  if (const auto per_scale = reference::elements_per_scale(format); per_scale != 0) {
    const auto block = index / per_scale;
    bits = format == dispatch_format::fp8_block128 ? reinterpret_cast<const std::uint32_t*>(scales)[block]
                                                   : static_cast<std::uint8_t>(scales[block]);
  }
  constexpr float tensor_scale = 1;
  return __fmul_rn(reference::value_of_code(format, static_cast<std::uint8_t>(code)),
                   reference::value_of_scale(format, bits, tensor_scale));
}

__device__ float element(const expert_shape& shape, std::uint64_t row, std::uint64_t index) {
  const auto* hidden = shape.hidden + row * shape.hidden_row_bytes;
  if (reference::is_quantised(shape.format)) {
    return scaled_element(shape.format, hidden, shape.scales + row * shape.scale_row_bytes, index);
  }
  switch (shape.hidden_type) {
    case dtype::bf16: return bf16_rows::widen(reinterpret_cast<const bf16_rows::bits*>(hidden)[index]);
    case dtype::fp16: return fp16_rows::widen(reinterpret_cast<const fp16_rows::bits*>(hidden)[index]);
    case dtype::fp32: return fp32_rows::widen(reinterpret_cast<const fp32_rows::bits*>(hidden)[index]);
  }
  return 0;
}

/// One row a block at a time. No product is contracted into a sum: every operation is rounded.
template <class Rows>
__global__ void __launch_bounds__(threads) expert_kernel(const __grid_constant__ expert_shape shape) {
  __shared__ factor_list factors;
  for (std::uint64_t row = blockIdx.x; row < shape.sources * shape.tokens_per_rank; row += gridDim.x) {
    auto* out = reinterpret_cast<typename Rows::bits*>(shape.rows) + row * shape.elements;
    if (threadIdx.x == 0) find_factors(shape, row, factors);
    __syncthreads();
    // Whatever the row order, a row that holds a token names an expert of this rank. expert_poison is the byte 0xFF.
    if (factors.count == 0) {
      for (std::uint64_t j = threadIdx.x; j < shape.elements; j += blockDim.x) out[j] = ~typename Rows::bits{0};
      __syncthreads();
      continue;
    }
    for (std::uint64_t j = threadIdx.x; j < shape.elements; j += blockDim.x) {
      const float x = element(shape, row, j);
      float sum = __fmul_rn(factors.values[0], x);
      for (int slot = 1; slot < factors.count; ++slot) sum = __fadd_rn(sum, __fmul_rn(factors.values[slot], x));
      out[j] = Rows::narrow(sum);
    }
    __syncthreads();  // the next row's factors take the place of these
  }
}
static_assert(expert_poison == 0xFF);

}  // namespace

void launch_keep(const viewed_areas& what, cudaStream_t stream) {
  keep_kernel<<<blocks, threads, 0, stream>>>(what);
  check_cuda(cudaGetLastError(), "keeping views");
}

void launch_experts(const expert_shape& shape, cudaStream_t stream) {
  switch (shape.type) {
    case dtype::bf16: expert_kernel<bf16_rows><<<blocks, threads, 0, stream>>>(shape); break;
    case dtype::fp16: expert_kernel<fp16_rows><<<blocks, threads, 0, stream>>>(shape); break;
    case dtype::fp32: expert_kernel<fp32_rows><<<blocks, threads, 0, stream>>>(shape); break;
  }
  check_cuda(cudaGetLastError(), "simulated experts");
}

void launch_poison(const viewed_areas& what, const replay_words* words, cudaStream_t stream) {
  poison_kernel<<<blocks, threads, 0, stream>>>(what, words);
  check_cuda(cudaGetLastError(), "poisoning views");
}

}  // namespace switchyard::harness
