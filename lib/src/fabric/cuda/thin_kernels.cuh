// SPDX-License-Identifier: Apache-2.0
// What every kernel of a phase begins with.
#pragma once

#include <cstddef>
#include <cstdint>

namespace switchyard::cuda {
namespace {

extern __shared__ __align__(128) std::byte shared[];

/// Brings the parameters near, all of them at once: their first use would wait for each line in turn.
template <class Params>
__device__ __forceinline__ void fetch_parameters(const Params& params) {
  constexpr std::uint32_t line_words = 16;
  const auto* words = reinterpret_cast<const std::uint32_t*>(&params);
#pragma unroll
  for (std::uint32_t i = 0; i < sizeof(Params) / sizeof(*words); i += line_words) asm volatile("" ::"r"(words[i]));
}

}  // namespace
}  // namespace switchyard::cuda
