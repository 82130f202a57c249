// SPDX-License-Identifier: Apache-2.0
// The header that every rank sends to every active peer in each phase: 64-bit words, each valid on its own when its tag
// is the expected epoch (docs/protocol.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "layout/workspace_layout.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::protocol {

inline constexpr std::size_t fixed_header_words = layout::extents::fixed_header_words;

/// Positions of the fixed words; the routed bitmap (32 tokens a word) follows them.
enum class header_word : std::uint8_t {
  digest,     ///< of every must-match word and the incarnation
  row_count,  ///< rows for the receiver
  runtime_max_tokens_per_rank,
  payload_set,
  hidden_states_row_bytes,
  topk_ids_row_bytes,
  topk_weights_row_bytes,
  hidden_states_scale_row_bytes,
  extra_row_bytes,
  transport,
  chunk_tokens,
  combine_hidden_size,
  eplb_stats_length = combine_hidden_size,  ///< in dispatch; one word has both, for a phase declares one of them
  combine_dtype,
  instance = combine_dtype,  ///< in dispatch, likewise
  incarnation,
  num_tokens,  ///< n of the sender: told, not compared
  rank_mask,
};
static_assert(static_cast<std::size_t>(header_word::rank_mask) + 1 == fixed_header_words);

inline constexpr std::uint64_t bitmap_word = fixed_header_words;  ///< index of the bitmap's first word

/// Whether a fixed word is posted apart from the others, by whoever knows it. Lamport phases do not send it.
constexpr bool is_posted_apart(std::uint64_t index) {
  return index == static_cast<std::uint64_t>(header_word::row_count);
}

/// What stands in a fixed word: one phrase each, for docs/protocol.md.
struct header_word_spec {
  header_word word;
  std::string_view name;
  std::string_view holds;
};
inline constexpr std::array<header_word_spec, fixed_header_words> header_word_table{{
    {header_word::digest, "digest", "of all words that must match"},
    {header_word::row_count, "row_count",
     "fence: rows for the receiver in dispatch, rows that the owner holds for it in combine; lamport: not sent"},
    {header_word::runtime_max_tokens_per_rank, "runtime_max_tokens_per_rank", "T"},
    {header_word::payload_set, "payload_set", "bit i set: payload i travels"},
    {header_word::hidden_states_row_bytes, "hidden_states_row_bytes", "bytes of a row, 0 where it does not travel"},
    {header_word::topk_ids_row_bytes, "topk_ids_row_bytes", "the same"},
    {header_word::topk_weights_row_bytes, "topk_weights_row_bytes", "the same"},
    {header_word::hidden_states_scale_row_bytes, "hidden_states_scale_row_bytes", "the same"},
    {header_word::extra_row_bytes, "extra_row_bytes", "the same"},
    {header_word::transport, "transport", "of the phase"},
    {header_word::chunk_tokens, "chunk_tokens",
     "rows of combine under one flag; 0 in dispatch and where there are no flags"},
    {header_word::combine_hidden_size, "combine_hidden_size",
     "h; in dispatch eplb_stats_length, integers of load statistics of a rank, 0: none"},
    {header_word::combine_dtype, "combine_dtype",
     "of expert outputs and sums; in dispatch instance, which of those that share the workspace"},
    {header_word::incarnation, "incarnation", "of the sender's workspace"},
    {header_word::num_tokens, "num_tokens", "n of the sender: told, not compared"},
    {header_word::rank_mask, "rank_mask",
     "bits of the ranks that take part, of groups of more than 32 a hash of them; 0 without rank masks"},
}};
static_assert(
    [] {
      for (std::size_t i = 0; i < fixed_header_words; ++i) {
        if (header_word_table[i].word != static_cast<header_word>(i)) return false;
      }
      return true;
    }(),
    "the table is indexed by header_word");

/// Words on which all ranks must agree, in the order in which a disagreement is named: first what others follow from,
/// as most does from the instance; the transport, and how it cuts a step, last.
struct must_match {
  header_word word;
  step_field field;
};
inline constexpr std::size_t num_must_match = 13;
constexpr std::array<must_match, num_must_match> must_match_words() {
  return {{
      {header_word::incarnation, step_field::incarnation},
      {header_word::rank_mask, step_field::rank_mask},
      {header_word::combine_dtype, step_field::combine_dtype},
      {header_word::runtime_max_tokens_per_rank, step_field::runtime_max_tokens_per_rank},
      {header_word::payload_set, step_field::payload_set},
      {header_word::hidden_states_row_bytes, step_field::hidden_states_row_bytes},
      {header_word::topk_ids_row_bytes, step_field::topk_ids_row_bytes},
      {header_word::topk_weights_row_bytes, step_field::topk_weights_row_bytes},
      {header_word::hidden_states_scale_row_bytes, step_field::hidden_states_scale_row_bytes},
      {header_word::extra_row_bytes, step_field::extra_row_bytes},
      {header_word::transport, step_field::transport},
      {header_word::chunk_tokens, step_field::chunk_tokens},
      {header_word::combine_hidden_size, step_field::combine_hidden_size},
  }};
}

/// What a record calls a word of a phase's header.
constexpr step_field field_of(const must_match& entry, phase which) {
  if (which != phase::dispatch) return entry.field;
  if (entry.word == header_word::eplb_stats_length) return step_field::eplb_stats_length;
  return entry.word == header_word::instance ? step_field::instance : entry.field;
}

/// The fixed words of this rank's header but for digest, row_count, incarnation and rank_mask, which the blocks fill
/// in: the first follows from the others, the second from the routing, the others from the workspace.
using step_words = std::array<std::uint32_t, fixed_header_words>;

constexpr std::uint32_t get(const step_words& words, header_word which) {
  return words[static_cast<std::size_t>(which)];
}
constexpr void set(step_words& words, header_word which, std::uint32_t value) {
  words[static_cast<std::size_t>(which)] = value;
}

constexpr transport transport_of(const step_words& words) {
  return static_cast<transport>(get(words, header_word::transport));
}

/// FNV-1a over the must-match words but for those that only the workspace knows. The host computes it.
constexpr std::uint32_t digest_of(const step_words& words) {
  std::uint32_t hash = 2166136261U;
  for (const auto& entry : must_match_words()) {
    if (entry.word == header_word::incarnation || entry.word == header_word::rank_mask) continue;
    const auto value = get(words, entry.word);
    for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ ((value >> shift) & 0xFFU)) * 16777619U;
  }
  return hash;
}

/// words_digest with the word of the rank mask, which is 0 where there are no masks.
constexpr std::uint32_t with_mask(std::uint32_t words_digest, std::uint32_t mask_word) {
  const auto spread = mask_word * 0x85EBCA6BU;  // odd: different masks stay different
  return words_digest ^ (spread << 15 | spread >> 17);
}

/// The digest word: `words_digest` and the incarnation, finished so that single-bit differences spread. A collision is
/// not silent for long: the combine's echo of the bitmap and the row counts are checked apart from the digest.
constexpr std::uint32_t finished_digest(std::uint32_t words_digest, std::uint32_t incarnation) {
  auto hash = words_digest ^ incarnation * 0x9E3779B1U;  // odd: different incarnations stay different
  hash ^= hash >> 16;
  hash *= 0x7FEB352DU;
  hash ^= hash >> 15;
  return hash;
}

/// A fault notice: what a rank that leaves tells its peers, in one tagged word (tag: the incarnation).
struct notice {
  fault_code code = fault_code::none;
  phase where = phase::dispatch;
  step_field field = step_field::none;
  std::uint8_t origin = 0;  ///< the rank that saw the fault
  std::int32_t rank = -1;   ///< the rank it names, or -1
};

constexpr std::uint32_t encode(const notice& what) {
  const auto named = what.rank >= 0 ? 1U << 8 | static_cast<std::uint32_t>(what.rank) : 0U;
  return static_cast<std::uint32_t>(what.code) | static_cast<std::uint32_t>(what.where) << 4 |
         static_cast<std::uint32_t>(what.field) << 5 |
         static_cast<std::uint32_t>(what.origin) << layout::notice_origin_shift | named << 18;
}

constexpr notice decode(std::uint32_t data) {
  notice what;
  what.code = static_cast<fault_code>(data & 0xFU);
  what.where = static_cast<phase>(data >> 4 & 1U);
  what.field = static_cast<step_field>(data >> 5 & 0x1FU);
  what.origin = static_cast<std::uint8_t>(data >> layout::notice_origin_shift & 0xFFU);
  const auto named = data >> 18;
  what.rank = (named & 0x100U) != 0 ? static_cast<std::int32_t>(named & 0xFFU) : -1;
  return what;
}

}  // namespace switchyard::protocol
