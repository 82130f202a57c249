// SPDX-License-Identifier: Apache-2.0
// What is recorded when a phase fails. Trivially copyable: blocks fill it in host-visible memory.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "switchyard/spec/shapes.hpp"

namespace switchyard {

enum class phase : std::uint8_t { dispatch, combine };

/// The protocol of a phase.
enum class transport : std::uint8_t {
  fence,    ///< rows, then a released flag: in dispatch one a source, in combine one for each chunk of rows
  lamport,  ///< every word of a row says by itself that it has come
};

/// Why a phase failed.
enum class fault_code : std::uint8_t {
  none,
  timeout,         ///< a peer's header, rows or statistics did not come before the phase's deadline
  step_mismatch,   ///< a peer declared another step: see field, expected, actual
  order_mismatch,  ///< a peer is in the other phase of the same epoch
  out_of_order,    ///< this rank ran a phase that is not due (a replayed graph, for example)
  bad_header,      ///< a header contradicts itself: its row count is not its bitmap's
  aborted,         ///< a rank called abort()
  mask_changed,    ///< a peer declared another rank mask: see expected, actual
  bad_mask,        ///< this rank's mask lacks itself, or has ranks that are not there: see expected, actual
};

/// The declared value on which two ranks disagree.
enum class step_field : std::uint8_t {
  none,
  runtime_max_tokens_per_rank,
  payload_set,  ///< bit i set: payload i of (hidden_states, topk_ids, topk_weights, hidden_states_scale, extra)
  hidden_states_row_bytes,
  topk_ids_row_bytes,
  topk_weights_row_bytes,
  hidden_states_scale_row_bytes,
  extra_row_bytes,
  eplb_stats_length,
  transport,
  chunk_tokens,
  combine_hidden_size,
  combine_dtype,
  instance,  ///< which of the instances that share the workspace: their number in the order in which they were made
  incarnation,
  rank_mask,      ///< bits of the active ranks, of groups of more than 32 a hash of them
  row_count,      ///< rows that the owner holds against rows that the source sent
  routed_bitmap,  ///< the owner's copy of the routing bitmap against the source's
};

/// What a wait was for.
enum class awaited : std::uint8_t {
  nothing,     ///< the fault was not seen in a wait
  header,      ///< a peer's header
  rows,        ///< rows of a peer
  statistics,  ///< a peer's load statistics
};

/// One bit per rank of the group.
using rank_set = std::array<std::uint64_t, max_ep_size / 64>;

/// The first fault of a workspace; later ones do not overwrite it.
struct fault_record {
  fault_code code = fault_code::none;
  switchyard::phase phase = switchyard::phase::dispatch;
  step_field field = step_field::none;  ///< of a mismatch, a bad_header or a bad_mask
  switchyard::awaited awaited = switchyard::awaited::nothing;
  std::uint8_t from_notice = 0;  ///< 1: learned from the notice of rank `origin`; 0: seen by this rank
  std::int32_t rank = -1;        ///< the rank to look at; -1: none is known
  std::int32_t origin = -1;      ///< the rank that saw the fault first
  std::uint32_t epoch = 0;       ///< of the failed phase
  std::uint64_t expected = 0;    ///< this rank's value of `field`
  std::uint64_t actual = 0;      ///< the other rank's value of `field`
  std::uint64_t entered_ns = 0;  ///< when this rank's first block entered the phase, on the clock of its device; of
                                 ///< abort(): when it was called
  std::uint64_t waited_ns = 0;   ///< from then until the record
  std::uint64_t timeout_ns = 0;  ///< the deadline in force
  rank_set missing{};            ///< active peers whose header, rows or statistics this rank did not have
};

/// Nanoseconds from this rank's entry into a phase until it saw a peer's header for which it waited; 0 for one that was
/// there when it first looked.
inline constexpr std::uint32_t not_arrived = 0xFFFFFFFF;
inline constexpr std::uint32_t most_arrival_ns = 0xFFFFFFFE;  ///< this or more
using wait_lanes = std::array<std::uint32_t, max_ep_size>;    ///< by peer; beyond ep_size nobody has arrived

/// A fault with this rank's lanes of the wait matrix in the phase that failed, and how masks differ. Apart, because
/// blocks build a record where memory is dear.
struct recorded_fault : fault_record {
  wait_lanes arrival_ns{};
  /// Of mask_changed that this rank saw itself, and of bad_mask: ranks in the mask `expected` that are not in `actual`,
  /// and the reverse, whatever the size of the group. Both empty: the other's mask is not known, because its rank, of a
  /// group of more than 32, did not tell it in time.
  rank_set only_expected{};
  rank_set only_actual{};
};

constexpr std::string_view to_string(phase which) noexcept { return which == phase::dispatch ? "dispatch" : "combine"; }

constexpr std::string_view to_string(transport which) noexcept {
  switch (which) {
    case transport::fence: return "fence";
    case transport::lamport: return "lamport";
  }
  return "unknown";
}

constexpr std::string_view to_string(fault_code code) noexcept {
  switch (code) {
    case fault_code::none: return "none";
    case fault_code::timeout: return "timeout";
    case fault_code::step_mismatch: return "step_mismatch";
    case fault_code::order_mismatch: return "order_mismatch";
    case fault_code::out_of_order: return "out_of_order";
    case fault_code::bad_header: return "bad_header";
    case fault_code::aborted: return "aborted";
    case fault_code::mask_changed: return "mask_changed";
    case fault_code::bad_mask: return "bad_mask";
  }
  return "unknown";
}

constexpr std::string_view to_string(awaited what) noexcept {
  switch (what) {
    case awaited::nothing: return "nothing";
    case awaited::header: return "header";
    case awaited::rows: return "rows";
    case awaited::statistics: return "statistics";
  }
  return "unknown";
}

constexpr std::string_view to_string(step_field field) noexcept {
  switch (field) {
    case step_field::none: return "none";
    case step_field::runtime_max_tokens_per_rank: return "runtime_max_tokens_per_rank";
    case step_field::payload_set: return "payload_set";
    case step_field::hidden_states_row_bytes: return "hidden_states_row_bytes";
    case step_field::topk_ids_row_bytes: return "topk_ids_row_bytes";
    case step_field::topk_weights_row_bytes: return "topk_weights_row_bytes";
    case step_field::hidden_states_scale_row_bytes: return "hidden_states_scale_row_bytes";
    case step_field::extra_row_bytes: return "extra_row_bytes";
    case step_field::eplb_stats_length: return "eplb_stats_length";
    case step_field::transport: return "transport";
    case step_field::chunk_tokens: return "chunk_tokens";
    case step_field::combine_hidden_size: return "combine_hidden_size";
    case step_field::combine_dtype: return "combine_dtype";
    case step_field::instance: return "instance";
    case step_field::incarnation: return "incarnation";
    case step_field::rank_mask: return "rank_mask";
    case step_field::row_count: return "row_count";
    case step_field::routed_bitmap: return "routed_bitmap";
  }
  return "unknown";
}

constexpr bool contains(const rank_set& set, int rank) noexcept {
  return ((set[static_cast<std::size_t>(rank) / 64] >> (static_cast<unsigned>(rank) % 64)) & 1U) != 0;
}

constexpr void insert(rank_set& set, int rank) noexcept {
  set[static_cast<std::size_t>(rank) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(rank) % 64);
}

}  // namespace switchyard
