// SPDX-License-Identifier: Apache-2.0
// What a phase is launched with. Trivially copyable: a host object owns, these borrow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/device_code.hpp"
#include "layout/round_state.hpp"
#include "layout/workspace_layout.hpp"
#include "protocol/header.hpp"
#include "protocol/routing.hpp"
#include "switchyard/spec/dtypes.hpp"

namespace switchyard::protocol {

/// One rank's workspace and its windows onto the peers'.
struct workspace_handle {
  std::byte* self = nullptr;
  std::byte* const* peers = nullptr;  ///< [ep_size] bases as this rank addresses them; peers[rank] == self
  layout::fault_mailbox* mailbox = nullptr;
  layout::workspace_layout layout;
  std::int32_t rank = 0;
  std::int32_t ep_size = 1;
  std::uint32_t num_blocks = 1;  ///< of this launch

  [[nodiscard]] SWITCHYARD_DEVICE layout::round_state& round() const {
    return *reinterpret_cast<layout::round_state*>(self + layout.offset_of(layout::region::round_state));
  }
  /// `offset` bytes into the workspace of `peer`, as a T.
  template <class T>
  [[nodiscard]] SWITCHYARD_DEVICE T* at(std::int32_t peer, std::uint64_t offset) const {
    return reinterpret_cast<T*>(peers[peer] + offset);
  }
  template <class T>
  [[nodiscard]] SWITCHYARD_DEVICE T* local(std::uint64_t offset) const {
    return reinterpret_cast<T*>(self + offset);
  }
  /// Header words in the workspace of `receiver`, in the slot of `source`.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* header(std::int32_t receiver, phase which, std::uint64_t parity,
                                                        std::int32_t source) const {
    return at<std::uint64_t>(receiver, layout.header_offset(which, parity, static_cast<std::uint64_t>(source)));
  }
  /// Flag of `owner`'s chunk in the workspace of `receiver`.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* flag(std::int32_t receiver, phase which, std::int32_t owner,
                                                      std::uint64_t chunk) const {
    return at<std::uint64_t>(receiver, layout.flag_offset(which, static_cast<std::uint64_t>(owner), chunk));
  }
};

/// A payload of the step, present ones only.
struct payload_source {
  const std::byte* data = nullptr;
  std::uint64_t row_bytes = 0;
  layout::region destination = layout::region::hidden_states;
};
inline constexpr std::size_t max_payloads = 5;

struct dispatch_params {
  workspace_handle ws;
  step_words words{};
  std::uint32_t words_digest = 0;          ///< digest_of(words)
  const std::int32_t* topk_ids = nullptr;  ///< [num_tokens, top_k]
  std::array<payload_source, max_payloads> payloads{};
  std::uint32_t num_payloads = 0;
  expert_map experts;
  std::int32_t top_k = 1;
  std::int32_t invalid_expert_id = -1;
  std::uint64_t num_tokens = 0;       ///< n
  std::uint64_t tokens_per_rank = 1;  ///< T
  std::uint64_t chunk_tokens = 1;     ///< a power of two below 32, or a multiple of 32
};

/// 32-bit words of scratch that a block needs: bits, bases and counts of one chunk for every rank, and its routes.
constexpr std::uint64_t scratch_words(const dispatch_params& p) {
  const auto span_words = (p.chunk_tokens + 31) / 32;  // a chunk never straddles a word that it does not fill
  constexpr auto route_words = sizeof(layout::route) / sizeof(std::uint32_t);
  return static_cast<std::uint64_t>(p.ws.ep_size) * (span_words + 2) +
         p.chunk_tokens * p.ws.layout.dims.slots() * route_words;
}

struct combine_params {
  workspace_handle ws;
  step_words words{};
  std::uint32_t words_digest = 0;            ///< digest_of(words)
  const std::byte* expert_output = nullptr;  ///< rows to copy into the workspace; null: they are there already
  std::byte* output = nullptr;               ///< [num_tokens, elements]
  dtype type = dtype::bf16;
  std::uint64_t elements = 0;  ///< h
  std::uint64_t num_tokens = 0;
  std::uint64_t tokens_per_rank = 1;
  std::uint64_t chunk_tokens = 1;   ///< rows under one flag
  std::uint64_t reduce_tokens = 1;  ///< tokens that one reduce role sums
};

constexpr std::uint64_t scratch_words(const combine_params&) { return 0; }

}  // namespace switchyard::protocol
