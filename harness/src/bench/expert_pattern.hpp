// SPDX-License-Identifier: Apache-2.0
// What experts return while times are measured: a function of (rank, row, element), so that a sum of wrong rows shows.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SWITCHYARD_BOTH_SIDES __host__ __device__
#else
#define SWITCHYARD_BOTH_SIDES
#endif

namespace switchyard::harness {

/// Bits of a finite 16-bit element of either sign, bf16 or fp16.
SWITCHYARD_BOTH_SIDES constexpr std::uint16_t expert_element(std::uint32_t rank, std::uint32_t row,
                                                             std::uint32_t element) {
  // Multiplicative hashing; the constants are those of xxHash32.
  std::uint32_t word = (rank + 1) * 0x9E3779B1U ^ (row + 1) * 0x85EBCA77U ^ element * 0xC2B2AE3DU;
  word ^= word >> 15;
  word *= 0x27D4EB2FU;
  word ^= word >> 13;
  return static_cast<std::uint16_t>(0x3F00U | (word & 0x80FFU));
}

}  // namespace switchyard::harness
