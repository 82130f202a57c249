// SPDX-License-Identifier: Apache-2.0
// Where everything in a workspace lies: one table of regions, from which offsets, sizes and the total follow.
// Offsets depend on construction parameters only, never on a step's T or payloads (docs/workspace_layout.md).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "layout/lamport_row.hpp"
#include "layout/notice_words.hpp"
#include "layout/quantised_row.hpp"
#include "layout/rank_mask.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::layout {

inline constexpr std::uint64_t line_bytes = 128;  ///< words that different blocks hammer lie on lines of their own

/// The quantities that region sizes are made of. Fixed at construction.
struct extents {
  std::uint64_t ep_size = 1;
  std::uint64_t top_k = 1;
  std::uint64_t max_tokens = 1;         ///< max_tokens_per_rank
  std::uint64_t hidden_bytes = 0;       ///< capacity of a hidden_states row
  std::uint64_t scale_bytes = 0;        ///< capacity of a hidden_states_scale row
  std::uint64_t extra_bytes = 0;        ///< capacity of an extra row
  std::uint64_t eplb_words = 0;         ///< most integers of a rank's load statistics
  std::uint64_t combine_row_bytes = 0;  ///< capacity of an expert output row
  std::uint64_t lamport_tokens = 0;     ///< most tokens of a rank in a Lamport step; 0: there are no such steps
  bool rank_masks = false;              ///< ranks may be masked off
  low_precision combine_format = low_precision::none;  ///< in which outputs travel

  /// Ranks that one token can go to at most.
  [[nodiscard]] constexpr std::uint64_t slots() const { return top_k < ep_size ? top_k : ep_size; }
  /// 32-bit words of a bitmap over max_tokens.
  [[nodiscard]] constexpr std::uint64_t bitmap_words() const { return (max_tokens + 31) / 32; }
  /// Chunks that the rows of a combine may be cut into, each under a flag of its own.
  [[nodiscard]] constexpr std::uint64_t max_chunks() const { return max_tokens < 2048 ? max_tokens : 2048; }
  [[nodiscard]] constexpr std::uint64_t header_words() const { return fixed_header_words + bitmap_words(); }
  /// Words for a mask that a header's word is too small for; 0 where it is not, or there are no masks.
  [[nodiscard]] constexpr std::uint64_t whole_mask_words() const {
    return rank_masks && ep_size > 32 ? (ep_size + 31) / 32 : 0;
  }
  [[nodiscard]] constexpr std::uint64_t receive_rows() const { return ep_size * max_tokens; }
  /// Bytes from one row of the Lamport inboxes to the next: of a token's payloads, and of an expert output.
  [[nodiscard]] constexpr std::uint64_t lamport_row_bytes() const {
    const auto ids = units_of(top_k * 4);
    return lamport_stride(units_of(hidden_bytes) + 2 * ids + units_of(scale_bytes) + units_of(extra_bytes));
  }
  [[nodiscard]] constexpr std::uint64_t lamport_output_bytes() const {
    if (!in_low_precision()) return lamport_stride(units_of(combine_row_bytes));
    return lamport_scales_offset() +
           (num_scales(combine_format, combine_elements()) * 8 + line_bytes - 1) / line_bytes * line_bytes;
  }
  [[nodiscard]] constexpr bool in_low_precision() const { return combine_format != low_precision::none; }
  /// Elements of the longest expert output: rows of narrower elements than params' dtype may have more of them.
  [[nodiscard]] constexpr std::uint64_t combine_elements() const { return combine_row_bytes / 2; }
  /// Capacity of an expert output as it travels by fence.
  [[nodiscard]] constexpr std::uint64_t returned_row_bytes() const {
    return in_low_precision() ? quantised_row_bytes(combine_format, combine_elements()) : combine_row_bytes;
  }
  /// In a row of the Lamport inbox in low precision, whatever h is: scales are not re-armed, and must not lie where
  /// another step has units.
  [[nodiscard]] constexpr std::uint64_t lamport_scales_offset() const {
    return lamport_stride(units_of(combine_elements()));
  }

  friend constexpr auto operator<=>(const extents&, const extents&) = default;

  static constexpr std::uint64_t fixed_header_words = 16;
  static constexpr std::uint32_t max_lamport_blocks = 160;  ///< of a launch
  static constexpr std::uint64_t block_state_bytes = 32;
};

enum class region : std::uint8_t {
  round_state,
  rank_mask,
  whole_masks,
  notice,
  headers,
  dispatch_flags,
  combine_flags,
  arrivals,
  sent_bitmaps,
  routes,
  return_rows,
  recv_counts,
  eplb_stats,
  eplb_inbox,
  topk_ids,
  topk_ids_inbox,
  topk_weights,
  hidden_states,
  hidden_states_scale,
  extra,
  combine_rows,
  combine_inbox,
  lamport_blocks,
  lamport_credits,
  lamport_presence,
  lamport_dispatch_inbox,
  lamport_combine_inbox,
};
inline constexpr std::size_t num_regions = 27;

/// Who stores into a region while a phase runs.
enum class writer : std::uint8_t { self, peers };

struct region_spec {
  region id;
  std::string_view name;
  std::string_view formula;  ///< bytes, in the words of `extents`
  layout::writer writer;
  /// Whether the region holds signals or state that must read 0 before the first step.
  bool zeroed;
  std::string_view holds;  ///< one phrase, for docs/workspace_layout.md
  std::uint64_t (*bytes)(const extents&);
};

inline constexpr std::array<region_spec, num_regions> region_table{{
    {region::round_state, "round_state", "8 * 128", writer::self, true,
     "epoch, phase due, step index, timeouts, poison, tickets", [](const extents&) { return 8 * line_bytes; }},
    {region::rank_mask, "rank_mask", "128", writer::self, true, "which ranks take part, routes that were dropped",
     [](const extents&) { return rank_mask_bytes; }},
    {region::whole_masks, "whole_masks", "ep_size * whole_mask_words * 8", writer::peers, true,
     "masks of more than 32 ranks, by rank, once they are seen to differ",
     [](const extents& e) { return e.ep_size * e.whole_mask_words() * 8; }},
    {region::notice, "notice", "128", writer::peers, true, "the last fault notice, and who is heard",
     [](const extents&) { return line_bytes; }},
    {region::headers, "headers", "2 * 2 * ep_size * header_words * 8", writer::peers, true,
     "one header per phase, parity of the step, and source",
     [](const extents& e) { return 2 * 2 * e.ep_size * e.header_words() * 8; }},
    {region::dispatch_flags, "dispatch_flags", "ep_size * 8", writer::peers, true, "rows of the source are here",
     [](const extents& e) { return e.ep_size * 8; }},
    {region::combine_flags, "combine_flags", "ep_size * max_chunks * 8", writer::peers, true,
     "rows of (owner, chunk) are in the combine inbox",
     [](const extents& e) { return e.ep_size * e.max_chunks() * 8; }},
    {region::arrivals, "arrivals", "2 * ep_size * 8", writer::self, true,
     "per phase and source: when its header was first seen", [](const extents& e) { return 2 * e.ep_size * 8; }},
    {region::sent_bitmaps, "sent_bitmaps", "ep_size * bitmap_words * 4", writer::self, false,
     "what this rank routed to each peer in the step",
     [](const extents& e) { return e.ep_size * e.bitmap_words() * 4; }},
    {region::routes, "routes", "max_tokens * slots * 8", writer::self, false,
     "rank and packed row of each of a token's copies", [](const extents& e) { return e.max_tokens * e.slots() * 8; }},
    {region::return_rows, "return_rows", "receive_rows * 4", writer::peers, false,
     "the row of its source's combine inbox that each received row's output goes to",
     [](const extents& e) { return e.receive_rows() * 4; }},
    {region::recv_counts, "recv_counts", "ep_size * 4", writer::self, false, "rows received from each source",
     [](const extents& e) { return e.ep_size * 4; }},
    {region::eplb_stats, "eplb_stats", "ep_size * eplb_words * 4", writer::self, false,
     "the caller's view of all ranks' load statistics", [](const extents& e) { return e.ep_size * e.eplb_words * 4; }},
    {region::eplb_inbox, "eplb_inbox", "ep_size * eplb_words * 8", writer::peers, true,
     "load statistics as they arrive, by source", [](const extents& e) { return e.ep_size * e.eplb_words * 8; }},
    // Only this rank writes the view of the ids, so that a failed dispatch can clear it for good while a slow peer may
    // still be storing rows into the inbox.
    {region::topk_ids, "topk_ids", "receive_rows * top_k * 4", writer::self, false, "the caller's view of the ids",
     [](const extents& e) { return e.receive_rows() * e.top_k * 4; }},
    {region::topk_ids_inbox, "topk_ids_inbox", "receive_rows * top_k * 4", writer::peers, false, "ids as they arrive",
     [](const extents& e) { return e.receive_rows() * e.top_k * 4; }},
    {region::topk_weights, "topk_weights", "receive_rows * top_k * 4", writer::peers, false, "weights",
     [](const extents& e) { return e.receive_rows() * e.top_k * 4; }},
    {region::hidden_states, "hidden_states", "receive_rows * hidden_bytes", writer::peers, false, "hidden states",
     [](const extents& e) { return e.receive_rows() * e.hidden_bytes; }},
    {region::hidden_states_scale, "hidden_states_scale", "receive_rows * scale_bytes", writer::peers, false,
     "scales of the dispatch format", [](const extents& e) { return e.receive_rows() * e.scale_bytes; }},
    {region::extra, "extra", "receive_rows * extra_bytes", writer::peers, false, "the extra payload",
     [](const extents& e) { return e.receive_rows() * e.extra_bytes; }},
    {region::combine_rows, "combine_rows", "receive_rows * combine_row_bytes", writer::self, false,
     "expert outputs that are written in place",
     [](const extents& e) { return e.receive_rows() * e.combine_row_bytes; }},
    {region::combine_inbox, "combine_inbox", "max_tokens * slots * returned_row_bytes", writer::peers, false,
     "outputs of other ranks' experts as they arrive",
     [](const extents& e) { return e.max_tokens * e.slots() * e.returned_row_bytes(); }},
    {region::lamport_blocks, "lamport_blocks", "160 * 32", writer::self, true,
     "epoch, phase due, step index of each block of a Lamport phase",
     [](const extents& e) { return e.max_lamport_blocks * e.block_state_bytes; }},
    {region::lamport_credits, "lamport_credits", "2 * ep_size * 8", writer::peers, true,
     "per phase and rank: what it re-armed in earlier phases may be stored to",
     [](const extents& e) { return 2 * e.ep_size * 8; }},
    {region::lamport_presence, "lamport_presence", "ep_size * lamport_tokens * 8", writer::peers, true,
     "per source and token: whether it is routed here, and as which of its ranks",
     [](const extents& e) { return e.ep_size * e.lamport_tokens * 8; }},
    {region::lamport_dispatch_inbox, "lamport_dispatch_inbox", "ep_size * lamport_tokens * lamport_row_bytes",
     writer::peers, true, "tokens of Lamport steps as they arrive, armed between steps",
     [](const extents& e) { return e.ep_size * e.lamport_tokens * e.lamport_row_bytes(); }},
    {region::lamport_combine_inbox, "lamport_combine_inbox", "lamport_tokens * slots * lamport_output_bytes",
     writer::peers, true, "outputs of Lamport steps as they arrive, armed between steps",
     [](const extents& e) { return e.lamport_tokens * e.slots() * e.lamport_output_bytes(); }},
}};

inline constexpr std::uint64_t region_alignment = 256;  ///< every view starts on it, so any vector width may be used
inline constexpr std::uint64_t guard_bytes = 256;       ///< after each region, never written

/// Offsets and sizes of one workspace. Trivially copyable: kernels take it by value.
struct workspace_layout {
  extents dims;
  std::array<std::uint64_t, num_regions> offsets{};
  std::array<std::uint64_t, num_regions> sizes{};
  std::uint64_t total_bytes = 0;
  // Of the Lamport regions, worked out once.
  std::uint64_t lamport_row_stride = 0;
  std::uint64_t lamport_output_stride = 0;

  [[nodiscard]] constexpr std::uint64_t offset_of(region id) const { return offsets[static_cast<std::size_t>(id)]; }
  [[nodiscard]] constexpr std::uint64_t size_of(region id) const { return sizes[static_cast<std::size_t>(id)]; }

  /// First word of the header that `source` sends for `which` in steps of `parity`.
  [[nodiscard]] constexpr std::uint64_t header_offset(phase which, std::uint64_t parity, std::uint64_t source) const {
    const auto slot = (static_cast<std::uint64_t>(which) * 2 + parity) * dims.ep_size + source;
    return offset_of(region::headers) + slot * dims.header_words() * 8;
  }
  /// Where `source` tells its whole mask.
  [[nodiscard]] constexpr std::uint64_t whole_mask_offset(std::uint64_t source) const {
    return offset_of(region::whole_masks) + source * dims.whole_mask_words() * 8;
  }
  /// When the header of `source` was first seen in the last `which`.
  [[nodiscard]] constexpr std::uint64_t arrival_offset(phase which, std::uint64_t source) const {
    return offset_of(region::arrivals) + (static_cast<std::uint64_t>(which) * dims.ep_size + source) * 8;
  }
  /// Where the load statistics of `source` arrive.
  [[nodiscard]] constexpr std::uint64_t eplb_inbox_offset(std::uint64_t source) const {
    return offset_of(region::eplb_inbox) + source * dims.eplb_words * 8;
  }
  /// The flag of all rows that `source` sends in dispatch.
  [[nodiscard]] constexpr std::uint64_t dispatch_flag_offset(std::uint64_t source) const {
    return offset_of(region::dispatch_flags) + source * 8;
  }
  /// The flag of chunk `chunk` of the outputs that `owner` sends in combine.
  [[nodiscard]] constexpr std::uint64_t combine_flag_offset(std::uint64_t owner, std::uint64_t chunk) const {
    return offset_of(region::combine_flags) + (owner * dims.max_chunks() + chunk) * 8;
  }
  /// The credit that `granter` gives in Lamport phases `which`.
  [[nodiscard]] constexpr std::uint64_t lamport_credit_offset(phase which, std::uint64_t granter) const {
    return offset_of(region::lamport_credits) + (static_cast<std::uint64_t>(which) * dims.ep_size + granter) * 8;
  }
  [[nodiscard]] constexpr std::uint64_t lamport_presence_offset(std::uint64_t source, std::uint64_t token) const {
    return offset_of(region::lamport_presence) + (source * dims.lamport_tokens + token) * 8;
  }
  /// The inbox row of a token of `source`, strided by what may come, not by what a step has.
  [[nodiscard]] constexpr std::uint64_t lamport_row_offset(std::uint64_t source, std::uint64_t token) const {
    return offset_of(region::lamport_dispatch_inbox) + (source * dims.lamport_tokens + token) * lamport_row_stride;
  }
  /// The inbox row of an output; `place` is token * slots + slot.
  [[nodiscard]] constexpr std::uint64_t lamport_output_offset(std::uint64_t place) const {
    return offset_of(region::lamport_combine_inbox) + place * lamport_output_stride;
  }
};

/// Lays out a workspace. Sizes are computed in 64 bits; the caller has checked that they cannot overflow.
constexpr workspace_layout make_layout(const extents& dims) {
  workspace_layout result;
  result.dims = dims;
  result.lamport_row_stride = dims.lamport_row_bytes();
  result.lamport_output_stride = dims.lamport_output_bytes();
  std::uint64_t end = 0;
  for (const auto& spec : region_table) {
    const auto index = static_cast<std::size_t>(spec.id);
    result.offsets[index] = end;
    result.sizes[index] = spec.bytes(dims);
    end += result.sizes[index] + guard_bytes;
    end = (end + region_alignment - 1) / region_alignment * region_alignment;
  }
  result.total_bytes = end;
  return result;
}

/// Of all offsets and sizes: equal when two ranks address each other's workspaces alike.
constexpr std::uint64_t digest_of(const workspace_layout& plan) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, a word at a time
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 1099511628211ULL; };
  for (std::size_t i = 0; i < num_regions; ++i) {
    add(plan.offsets[i]);
    add(plan.sizes[i]);
  }
  add(plan.total_bytes);
  return hash;
}

static_assert(
    [] {
      for (std::size_t i = 0; i < num_regions; ++i) {
        if (region_table[i].id != static_cast<region>(i)) return false;
      }
      return true;
    }(),
    "the table is indexed by region");

}  // namespace switchyard::layout
