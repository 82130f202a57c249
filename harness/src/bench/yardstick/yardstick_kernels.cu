// SPDX-License-Identifier: Apache-2.0
#include "yardstick_kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../bench_kernels.hpp"
#include "exact_element.hpp"
#include "exact_rows.hpp"

namespace switchyard::harness {
namespace {

constexpr int row_threads = 512;
constexpr unsigned most_blocks = 1024;  // enough to fill 132 multiprocessors with 4 blocks each, twice

unsigned blocks_for(std::uint64_t rows) {
  return rows == 0 ? 1U : static_cast<unsigned>(rows < most_blocks ? rows : most_blocks);
}

__device__ std::byte* at_place(std::int32_t place, std::byte* remote, std::byte* local, std::uint64_t pitch) {
  return place >= 0 ? remote + static_cast<std::uint64_t>(place) * pitch
                    : local + static_cast<std::uint64_t>(-1 - place) * pitch;
}

/// Fills up to the next multiple of 16 bytes with zeros: packed rows are compared as a whole.
template <class Word>
__device__ void copy_piece(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  const auto words = bytes / static_cast<std::uint32_t>(sizeof(Word));
  const auto padded = (bytes + 15) / 16 * 16 / static_cast<std::uint32_t>(sizeof(Word));
  for (std::uint32_t word = threadIdx.x; word < padded; word += blockDim.x) {
    reinterpret_cast<Word*>(to)[word] = word < words ? reinterpret_cast<const Word*>(from)[word] : Word{};
  }
}

__global__ void __launch_bounds__(row_threads) pack_kernel(const __grid_constant__ pack_parameters p) {
  for (std::uint32_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    auto* out = at_place(p.places[row], p.remote, p.local, p.pitch_bytes);
    const auto token = static_cast<std::uint64_t>(p.tokens[row]);
    for (const auto& piece : p.pieces) {
      if (piece.row_bytes == 0) continue;
      const auto* from = piece.from + token * piece.row_bytes;
      if (piece.row_bytes % sizeof(uint4) == 0) {
        copy_piece<uint4>(out + piece.offset, from, piece.row_bytes);
      } else if (piece.row_bytes % sizeof(std::uint32_t) == 0) {
        copy_piece<std::uint32_t>(out + piece.offset, from, piece.row_bytes);
      } else {
        copy_piece<std::uint8_t>(out + piece.offset, from, piece.row_bytes);
      }
    }
  }
}

template <class Element>
__device__ Element rounded(float value) {
  if constexpr (std::is_same_v<Element, __half>) {
    return __float2half_rn(value);
  } else {
    return __float2bfloat16_rn(value);
  }
}

constexpr std::uint32_t pack_elements = 8;
template <class Element>
struct alignas(16) element_pack {
  Element values[pack_elements];
};

template <class Element>
__global__ void __launch_bounds__(row_threads) sum_kernel(const __grid_constant__ sum_parameters p) {
  using pack = element_pack<Element>;
  const auto pitch = static_cast<std::uint64_t>(p.elements) * sizeof(Element);
  for (std::uint32_t token = blockIdx.x; token < p.tokens; token += gridDim.x) {
    const auto* places = p.places + static_cast<std::uint64_t>(token) * p.ranks;
    for (std::uint32_t word = threadIdx.x; word < p.elements / pack_elements; word += blockDim.x) {
      float sum[pack_elements] = {};
      for (std::uint32_t rank = 0; rank < p.ranks; ++rank) {
        const auto place = places[rank];
        if (place == no_place) continue;
        const auto* row = at_place(place, const_cast<std::byte*>(p.remote), const_cast<std::byte*>(p.local), pitch);
        const auto held = reinterpret_cast<const pack*>(row)[word];
        for (std::uint32_t i = 0; i < pack_elements; ++i) sum[i] += static_cast<float>(held.values[i]);
      }
      pack result;
      for (std::uint32_t i = 0; i < pack_elements; ++i) result.values[i] = rounded<Element>(sum[i]);
      reinterpret_cast<pack*>(p.out + token * pitch)[word] = result;
    }
  }
}

template <class Element>
__global__ void exact_rows_kernel(const __grid_constant__ exact_rows_parameters p) {
  for (std::uint32_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const auto token = p.tokens[row];
    auto* out = reinterpret_cast<Element*>(p.out) + static_cast<std::uint64_t>(row) * p.elements;
    for (std::uint32_t e = threadIdx.x; e < p.elements; e += blockDim.x) {
      const int value = token < 0 ? 0 : exact_element(p.rank, static_cast<std::uint32_t>(token), e);
      out[e] = rounded<Element>(static_cast<float>(value));
    }
  }
}

template <class Element>
__global__ void sum_check_kernel(const __grid_constant__ sum_check_parameters p) {
  unsigned long long wrong = 0;
  for (std::uint32_t token = blockIdx.x; token < p.tokens; token += gridDim.x) {
    const auto* is = reinterpret_cast<const Element*>(p.is) + static_cast<std::uint64_t>(token) * p.elements;
    for (std::uint32_t e = threadIdx.x; e < p.elements; e += blockDim.x) {
      int sum = 0;
      for (auto mask = p.owner_mask[token]; mask != 0; mask &= mask - 1) {
        sum += exact_element(static_cast<std::uint32_t>(__ffs(static_cast<int>(mask)) - 1), p.first_token + token, e);
      }
      // A sum may be -0 or +0: both are zero here.
      wrong += static_cast<float>(is[e]) == static_cast<float>(sum) ? 0U : 1U;
    }
  }
  if (wrong != 0) atomicAdd(p.wrong, wrong);
}

}  // namespace

void launch_pack(const pack_parameters& parameters, cudaStream_t stream) {
  pack_kernel<<<blocks_for(parameters.rows), row_threads, 0, stream>>>(parameters);
  check_cuda(cudaGetLastError(), "packing rows");
}

void launch_sum(const sum_parameters& parameters, cudaStream_t stream) {
  const auto blocks = blocks_for(parameters.tokens);
  if (parameters.type == dtype::fp16) {
    sum_kernel<__half><<<blocks, row_threads, 0, stream>>>(parameters);
  } else {
    sum_kernel<__nv_bfloat16><<<blocks, row_threads, 0, stream>>>(parameters);
  }
  check_cuda(cudaGetLastError(), "summing rows");
}

void launch_exact_rows(const exact_rows_parameters& parameters, cudaStream_t stream) {
  const auto blocks = blocks_for(parameters.rows);
  if (parameters.type == dtype::fp16) {
    exact_rows_kernel<__half><<<blocks, row_threads, 0, stream>>>(parameters);
  } else {
    exact_rows_kernel<__nv_bfloat16><<<blocks, row_threads, 0, stream>>>(parameters);
  }
  check_cuda(cudaGetLastError(), "rows of experts");
}

void launch_sum_check(const sum_check_parameters& parameters, cudaStream_t stream) {
  const auto blocks = blocks_for(parameters.tokens);
  if (parameters.type == dtype::fp16) {
    sum_check_kernel<__half><<<blocks, row_threads, 0, stream>>>(parameters);
  } else {
    sum_check_kernel<__nv_bfloat16><<<blocks, row_threads, 0, stream>>>(parameters);
  }
  check_cuda(cudaGetLastError(), "checking sums");
}

}  // namespace switchyard::harness
