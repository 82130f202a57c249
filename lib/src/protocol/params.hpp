// SPDX-License-Identifier: Apache-2.0
// What a phase is launched with. Trivially copyable: a host object owns, these borrow.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "layout/device_code.hpp"
#include "layout/round_state.hpp"
#include "layout/workspace_layout.hpp"
#include "protocol/header.hpp"
#include "protocol/payload_rows.hpp"
#include "protocol/routing.hpp"
#include "switchyard/spec/dtypes.hpp"

namespace switchyard::protocol {

/// One rank's workspace and its windows onto the peers'.
struct workspace_handle {
  std::byte* self = nullptr;
  std::byte* const* peers = nullptr;  ///< [ep_size] bases as this rank addresses them; peers[rank] == self
  /// The first of them again: a kernel's parameters are nearer than memory.
  std::array<std::byte*, 8> near_peers{};
  std::int32_t num_near_peers = 0;
  layout::fault_mailbox* mailbox = nullptr;
  layout::workspace_layout layout;
  std::int32_t rank = 0;
  std::int32_t ep_size = 1;
  std::uint32_t num_blocks = 1;  ///< of this launch

  [[nodiscard]] SWITCHYARD_DEVICE layout::round_state& round() const {
    return *reinterpret_cast<layout::round_state*>(self + layout.offset_of(layout::region::round_state));
  }
  [[nodiscard]] SWITCHYARD_DEVICE layout::block_state& block_state(std::uint32_t index) const {
    return reinterpret_cast<layout::block_state*>(self + layout.offset_of(layout::region::lamport_blocks))[index];
  }
  [[nodiscard]] SWITCHYARD_DEVICE std::byte* base_of(std::int32_t peer) const {
    return peer < num_near_peers ? near_peers[static_cast<std::size_t>(peer)] : peers[peer];
  }
  /// Where `owner` keeps the return rows of what came from `source`: strided by what T may be, not by what it is,
  /// because a source in its next step, of another T, stores them while the owner still needs those of other sources.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint32_t* return_rows(std::int32_t owner, std::int32_t source) const {
    return at<std::uint32_t>(owner, layout.offset_of(layout::region::return_rows)) +
           wide_product(static_cast<std::uint32_t>(source), layout.dims.max_tokens);
  }
  /// `offset` bytes into the workspace of `peer`, as a T.
  template <class T>
  [[nodiscard]] SWITCHYARD_DEVICE T* at(std::int32_t peer, std::uint64_t offset) const {
    return reinterpret_cast<T*>(base_of(peer) + offset);
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
  [[nodiscard]] SWITCHYARD_DEVICE layout::rank_mask_words& rank_mask() const {
    return *local<layout::rank_mask_words>(layout.offset_of(layout::region::rank_mask));
  }
  [[nodiscard]] SWITCHYARD_DEVICE layout::notice_words& notice() const {
    return *local<layout::notice_words>(layout.offset_of(layout::region::notice));
  }
  /// In the workspace of `receiver`: the credit that `granter` gives in Lamport phases `which`.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* credit(std::int32_t receiver, phase which,
                                                        std::int32_t granter) const {
    return at<std::uint64_t>(receiver, layout.lamport_credit_offset(which, static_cast<std::uint64_t>(granter)));
  }
  /// In the workspace of `receiver`: whether a token of `source` goes there.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* presence(std::int32_t receiver, std::int32_t source,
                                                          std::uint32_t token) const {
    return at<std::uint64_t>(receiver, layout.lamport_presence_offset(static_cast<std::uint64_t>(source), token));
  }
  /// In the workspace of `receiver`: where the load statistics of `source` arrive.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* statistics(std::int32_t receiver, std::int32_t source) const {
    return at<std::uint64_t>(receiver, layout.eplb_inbox_offset(static_cast<std::uint64_t>(source)));
  }
  /// In the workspace of `receiver`: where `source` tells its whole mask.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* whole_mask(std::int32_t receiver, std::int32_t source) const {
    return at<std::uint64_t>(receiver, layout.whole_mask_offset(static_cast<std::uint64_t>(source)));
  }
  /// When the header of `source` was first seen in this rank's last `which`.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* arrival(phase which, std::int32_t source) const {
    return local<std::uint64_t>(layout.arrival_offset(which, static_cast<std::uint64_t>(source)));
  }
  /// In the workspace of `receiver`: the flag of what `source` sends in dispatch.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* dispatch_flag(std::int32_t receiver, std::int32_t source) const {
    return at<std::uint64_t>(receiver, layout.dispatch_flag_offset(static_cast<std::uint64_t>(source)));
  }
  /// In the workspace of `receiver`: the flag of a chunk of what `owner` sends in combine.
  [[nodiscard]] SWITCHYARD_DEVICE std::uint64_t* combine_flag(std::int32_t receiver, std::int32_t owner,
                                                              std::uint64_t chunk) const {
    return at<std::uint64_t>(receiver, layout.combine_flag_offset(static_cast<std::uint64_t>(owner), chunk));
  }
};

/// This rank's load statistics, to be gathered by all.
struct local_statistics {
  const std::int32_t* data = nullptr;
  std::uint32_t length = 0;  ///< 0: there are none in this step
};

struct dispatch_params {
  workspace_handle ws;
  step_words words{};
  std::uint32_t words_digest = 0;  ///< digest_of(words)
  token_ids routing;               ///< of num_tokens tokens
  payload_list payloads;
  local_statistics statistics;
  std::int32_t invalid_expert_id = -1;
  std::uint64_t num_tokens = 0;       ///< n
  std::uint64_t tokens_per_rank = 1;  ///< T
  std::uint32_t chunk_shift = 0;      ///< of chunk_tokens(): a GPU shifts in no time, and divides in a long one
  std::uint32_t receive_shift = 0;    ///< receive_parts_shift(T), from the host, where std::bit_width can be relied on
  bool routes_all = false;            ///< every block routes all tokens at once, not those of its roles one by one

  /// Tokens that one role sends.
  [[nodiscard]] constexpr std::uint64_t chunk_tokens() const { return std::uint64_t{1} << chunk_shift; }
  [[nodiscard]] constexpr std::uint32_t chunks() const {
    return static_cast<std::uint32_t>((tokens_per_rank - 1) >> chunk_shift) + 1;
  }
  /// Tokens whose routes a block has in its scratch.
  [[nodiscard]] constexpr std::uint64_t routed_tokens() const { return routes_all ? tokens_per_rank : chunk_tokens(); }
};

/// Roles that one source's rows are received by, as a power of two: one alone would copy the ids of a large step when
/// all else is done.
constexpr std::uint32_t receive_parts_shift(std::uint64_t tokens_per_rank) {
  constexpr std::uint32_t most = 4;
  if (tokens_per_rank < 1024) return 0;
  const auto shift = static_cast<std::uint32_t>(std::bit_width(tokens_per_rank / 512));
  return shift < most ? shift : most;
}
constexpr std::uint64_t receive_parts(std::uint64_t tokens_per_rank) {
  return std::uint64_t{1} << receive_parts_shift(tokens_per_rank);
}

/// What the threads of a team tell each other in their scratch about the header that they wait for.
struct header_tally {
  std::uint32_t digest;
  std::uint32_t told_rows;  ///< by row_count
  std::uint32_t found;  ///< dispatch: bits of the bitmap that are set; combine: words that are not as they were sent
  std::uint32_t before_part;  ///< dispatch: those of tokens before the part of the role
  std::uint32_t to_part_end;  ///< and before its end
};
inline constexpr std::uint64_t header_tally_words = sizeof(header_tally) / sizeof(std::uint32_t);

/// What the leader of a Lamport block tells its team, in 32-bit words: where the block stands, and a pointer for each
/// of a row's slots.
inline constexpr std::uint64_t most_lamport_frame_words = 40;
constexpr std::uint64_t lamport_plan_words(std::uint64_t slots) { return most_lamport_frame_words + 2 * (slots + 2); }

/// 32-bit words of scratch that a block needs: rows of earlier tokens for every rank; bits of tokens for every
/// rank; ranks of each of the chunk's tokens. Lamport: rows from every rank.
constexpr std::uint64_t scratch_words(const dispatch_params& p) {
  const auto words = (p.routed_tokens() + 31) / 32;  // a chunk never straddles a word that it does not fill
  const auto ranks = static_cast<std::uint64_t>(p.ws.ep_size);
  if (transport_of(p.words) == transport::lamport) {
    return (lamport_plan_words(p.ws.layout.dims.slots()) + ranks + 3) / 4 * 4;
  }
  return header_tally_words + ranks * (1 + words) + p.chunk_tokens() * p.ws.layout.dims.slots();
}

struct combine_params {
  workspace_handle ws;
  step_words words{};
  std::uint32_t words_digest = 0;            ///< digest_of(words)
  const std::byte* expert_output = nullptr;  ///< [ep_size * T, elements], in the workspace or not
  payload_list outputs;                      ///< the same, as what a Lamport combine sends
  std::byte* output = nullptr;               ///< [num_tokens, elements]
  dtype type = dtype::bf16;
  std::uint64_t elements = 0;  ///< h
  std::uint64_t num_tokens = 0;
  std::uint64_t tokens_per_rank = 1;
  std::uint32_t chunk_shift = 0;   ///< of chunk_tokens()
  std::uint32_t reduce_shift = 0;  ///< of reduce_tokens()
  std::uint32_t senders = 1;       ///< blocks that go on sending until all is sent, >= 1

  [[nodiscard]] constexpr std::uint32_t chunks() const {
    return static_cast<std::uint32_t>((tokens_per_rank - 1) >> chunk_shift) + 1;
  }
  /// Rows under one flag.
  [[nodiscard]] constexpr std::uint64_t chunk_tokens() const { return std::uint64_t{1} << chunk_shift; }
  /// Tokens that are summed at a time.
  [[nodiscard]] constexpr std::uint64_t reduce_tokens() const { return std::uint64_t{1} << reduce_shift; }
};

/// Of a combine whose outputs travel in low precision: `outputs` has rows of a byte an element. A type of its own, so
/// that usual combines have none of its code.
struct quantised_combine_params : combine_params {};
template <class Params>
concept combine_kind = std::derived_from<Params, combine_params>;

/// Where a combine has the routes of the tokens that it sums in its scratch: behind the tally and the count of rows for
/// each rank, where 8 bytes are aligned.
constexpr std::uint64_t combine_routes_word(std::uint64_t ranks) { return (header_tally_words + ranks + 1) / 2 * 2; }
/// Lamport phases have the leader's words instead.
constexpr std::uint64_t scratch_words(const combine_params& p) {
  const auto& dims = p.ws.layout.dims;
  if (transport_of(p.words) == transport::lamport) return (lamport_plan_words(dims.slots()) + 3) / 4 * 4;
  const auto routes = p.reduce_tokens() * dims.slots() * (sizeof(layout::route) / sizeof(std::uint32_t));
  return combine_routes_word(dims.ep_size) + routes;
}

}  // namespace switchyard::protocol
