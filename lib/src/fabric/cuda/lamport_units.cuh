// SPDX-License-Identifier: Apache-2.0
// What a thread of a GPU does with Lamport rows: units of two words, the owners of a token, the sum of a unit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/cuda/ordered_access.cuh"
#include "fabric/cuda/plain_units.cuh"
#include "fabric/cuda/row_copies.cuh"
#include "protocol/lamport_rows.hpp"
#include "protocol/routing.hpp"

namespace switchyard::cuda {

/// What protocol::block says of visit_ranks, for a warp: each lane has an id, and speaks for the rank that it is the
/// first to have.
template <bool may_mask, class Placed, class Other>
__device__ __forceinline__ std::uint32_t visit_ranks_of(const protocol::token_ids& routing, std::int32_t id,
                                                        std::uint32_t ranks, const Placed& placed, const Other& other) {
  const auto lane = threadIdx.x % 32;
  const auto owner = routing.owner_of<may_mask>(id);
  const auto same = __match_any_sync(~0U, owner);
  const bool leads = owner >= 0 && (same & (0U - same)) == 1U << lane;
  const auto distinct = __ballot_sync(~0U, leads ? 1 : 0);
  if (leads) placed(static_cast<std::uint32_t>(__popc(distinct & ((1U << lane) - 1))), owner);
#pragma unroll 1
  for (std::uint32_t first = 0; first < ranks; first += 32) {
    const auto place = static_cast<std::uint32_t>(owner) - first;  // none is a large one
    const auto owners = __reduce_or_sync(~0U, place < 32 ? 1U << place : 0U);
    if (first + lane < ranks && (owners >> lane & 1U) == 0) other(static_cast<std::int32_t>(first + lane));
  }
  return static_cast<std::uint32_t>(__popc(distinct));
}

/// The sum of a unit's elements, or the bits of its only source.
struct unit_sum {
  float elements[unit_bytes / sizeof(std::uint16_t)];
};

template <class Element>
__device__ __forceinline__ void add_unit_as(unit_sum& sum, protocol::word_pair words, bool first, bool alone) {
  element_pack<Element, ulonglong2> pack;
  pack.word = {words.first, words.second};
#pragma unroll
  for (std::uint32_t e = 0; e < pack.count; ++e) {
    const float value = alone ? __uint_as_float(pack.elements[e]) : Element::load(pack.elements[e]);
    sum.elements[e] = first ? value : sum.elements[e] + value;
  }
}
template <dtype type>
__device__ __forceinline__ void add_to_unit(unit_sum& sum, protocol::word_pair words, bool first, bool alone) {
  if constexpr (type == dtype::bf16) add_unit_as<bf16_unit>(sum, words, first, alone);
  if constexpr (type == dtype::fp16) add_unit_as<fp16_unit>(sum, words, first, alone);
  if constexpr (type == dtype::fp32) add_unit_as<fp32_unit>(sum, words, first, alone);
}

template <class Element>
__device__ __forceinline__ protocol::word_pair rounded_as(const unit_sum& sum, bool alone) {
  element_pack<Element, ulonglong2> pack;
#pragma unroll
  for (std::uint32_t e = 0; e < pack.count; ++e) {
    using bits = typename Element::bits;
    pack.elements[e] = alone ? static_cast<bits>(__float_as_uint(sum.elements[e])) : Element::store(sum.elements[e]);
  }
  return {pack.word.x, pack.word.y};
}
template <dtype type>
__device__ __forceinline__ protocol::word_pair rounded(const unit_sum& sum, bool alone) {
  if constexpr (type == dtype::fp16) return rounded_as<fp16_unit>(sum, alone);
  if constexpr (type == dtype::fp32) return rounded_as<fp32_unit>(sum, alone);
  return rounded_as<bf16_unit>(sum, alone);
}

}  // namespace switchyard::cuda
