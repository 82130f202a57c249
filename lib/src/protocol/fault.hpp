// SPDX-License-Identifier: Apache-2.0
// How a phase fails: waits that end otherwise than hoped, the record, the notice to all ranks.
#pragma once

#include <cstdint>

#include "protocol/block.hpp"
#include "protocol/header.hpp"
#include "protocol/mask_difference.hpp"
#include "protocol/params.hpp"
#include "protocol/rank_mask.hpp"
#include "protocol/routing.hpp"
#include "protocol/wait_matrix.hpp"

namespace switchyard::protocol {

/// What a block knows of the phase it is in.
struct phase_frame {
  phase which = phase::dispatch;
  bool open = false;  ///< false: poisoned or faulted at entry, no role is run
  std::uint32_t epoch = 0;
  std::uint64_t parity = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t digest = 0;
  const step_words* words = nullptr;  ///< of the launch; see declared()
  std::uint64_t first_role = 0;       ///< the ticket drawn at entry
  std::uint64_t start_ns = 0;
  std::uint64_t timeout_ns = 0;
  wait_bounds bounds;
};

/// What this rank declares in a fixed word of its header, but for digest, row_count and rank_mask.
SWITCHYARD_DEVICE inline std::uint32_t declared(const phase_frame& frame, std::uint64_t index) {
  return index == static_cast<std::uint64_t>(header_word::incarnation) ? frame.incarnation : (*frame.words)[index];
}
SWITCHYARD_DEVICE inline std::uint32_t declared(const phase_frame& frame, header_word which) {
  return declared(frame, static_cast<std::uint64_t>(which));
}

SWITCHYARD_DEVICE inline bool is_lamport(const phase_frame& frame) {
  return declared(frame, header_word::transport) == static_cast<std::uint32_t>(transport::lamport);
}

constexpr wait_bounds bounds_for(const phase_frame& frame, awaited what) {
  auto bounds = frame.bounds;
  bounds.what = what;
  return bounds;
}

template <block Block>
SWITCHYARD_DEVICE bool has_notice(Block& block, const phase_frame& frame) {
  return is_told<Block::may_mask>(frame.bounds, block.poll(frame.bounds.notice));
}

/// Whether the whole header of `source` is here; of Lamport phases: the fixed words that they send. [thread]
template <block Block>
SWITCHYARD_DEVICE bool has_header(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                  std::int32_t source) {
  const std::uint64_t tokens = declared(frame, header_word::runtime_max_tokens_per_rank);
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  const bool lamport = is_lamport(frame);
  const auto end = lamport ? bitmap_word : bitmap_word + (tokens + 31) / 32;
  SWITCHYARD_ROLLED
  for (std::uint64_t i = 0; i < end; ++i) {
    if (!(lamport && is_posted_apart(i)) && layout::tag_of(block.poll(words + i)) != frame.epoch) return false;
  }
  return true;
}

/// Whether all that `source` owes this rank in the phase is here: its header, the flags of its rows, and in a dispatch
/// as many integers of statistics as this rank has declared; their words are never re-armed, so ones that were taken
/// still have their tags. Of Lamport phases: the fixed words, who is to come, and statistics; rows raise no flags, and
/// one that was taken reads as one that has not come: raise() adds who was waited for. [thread]
template <block Block>
SWITCHYARD_DEVICE_APART bool is_complete(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                         std::int32_t source) {
  if (!has_header(block, ws, frame, source)) return false;
  const std::uint64_t tokens = declared(frame, header_word::runtime_max_tokens_per_rank);
  const auto is_fresh = [&](const std::uint64_t* word) { return layout::tag_of(block.poll(word)) == frame.epoch; };
  const bool lamport = is_lamport(frame);
  const bool dispatches = frame.which == phase::dispatch;
  const auto length = dispatches ? declared(frame, header_word::eplb_stats_length) : 0;
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; i < length; ++i) {
    if (!is_fresh(ws.statistics(ws.rank, source) + i)) return false;
  }
  SWITCHYARD_ROLLED
  for (std::uint32_t token = 0; lamport && dispatches && token < tokens; ++token) {
    if (!is_fresh(ws.presence(ws.rank, source, token))) return false;
  }
  if (lamport) return true;
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  const auto bits_at = [&](std::uint64_t w) { return layout::data_of(block.poll(words + bitmap_word + w)); };
  const std::uint64_t rows = count_bits(bits_at, 0, tokens);
  if (dispatches) return rows == 0 || is_fresh(ws.dispatch_flag(ws.rank, source));
  if (source == ws.rank) return true;  // a rank sums the outputs of its own experts where they are
  const std::uint64_t chunk_tokens = declared(frame, header_word::chunk_tokens);
  SWITCHYARD_ROLLED
  for (std::uint64_t first = 0, chunk = 0; first < rows; first += chunk_tokens, ++chunk) {
    if (!is_fresh(ws.combine_flag(ws.rank, source, chunk))) return false;
  }
  return true;
}

template <block Block>
SWITCHYARD_DEVICE_APART rank_set incomplete_peers(Block& block, const workspace_handle& ws, const phase_frame& frame) {
  rank_set missing{};
  const auto active = active_in(block, ws, frame.which);
  SWITCHYARD_ROLLED
  for (std::int32_t source = 0; source < ws.ep_size; ++source) {
    if (active.contains(source) && !is_complete(block, ws, frame, source)) insert(missing, source);
  }
  return missing;
}

/// Stores the notice of `fault`, which was seen in `where`, at every rank that takes part. This rank comes last: its
/// phase may not end before every peer has its notice. [thread]
template <block Block>
SWITCHYARD_DEVICE_APART void tell_all_ranks(Block& block, const workspace_handle& ws, const fault_record& fault,
                                            phase where, std::uint32_t incarnation) {
  const notice told{fault.code, where, fault.field, static_cast<std::uint8_t>(fault.origin), fault.rank};
  const auto word = layout::tagged(encode(told), incarnation);
  const auto offset = ws.layout.offset_of(layout::region::notice);
  SWITCHYARD_ROLLED
  for (std::int32_t i = 1; i <= ws.ep_size; ++i) {
    const auto rank = (ws.rank + i) % ws.ep_size;
    if (is_told_of(block, ws, fault, rank)) block.post(ws.at<std::uint64_t>(rank, offset), word);
  }
  block.announce(&ws.round().fault_announced, 1);  // for await_announcement
}

/// What abort() does, from outside any phase: records `aborted` unless there is a fault already, tells every rank, and
/// poisons. The words of the round state may be changing meanwhile; the record holds what they were. [thread]
template <block Block>
SWITCHYARD_DEVICE_APART void abort_workspace(Block& block, const workspace_handle& ws) {
  auto& round = ws.round();
  if (!block.elect(&round.fault_elected)) return;  // a fault's notices are out or going out
  fault_record record;
  record.code = fault_code::aborted;
  record.phase = static_cast<phase>(block.load_u32(&round.phase_due));
  record.epoch = block.load_u32(&round.epoch);
  record.rank = ws.rank;
  record.origin = ws.rank;
  record.entered_ns = block.now_ns();
  tell_arrivals(block, ws, record.phase, record.epoch, block.poll(&round.step_index) & 1U);
  tell_no_difference(ws);
  block.record(ws.mailbox, record);
  tell_all_ranks(block, ws, record, record.phase, block.load_u32(&round.incarnation));
  block.store_u32(&round.poison, 1);
}

/// Records `fault` unless this workspace has one already, and tells every rank, so that all leave their waits. Fills in
/// what every record holds. `seen_in`: the phase that the fault is of, where a notice has told of it another one than
/// that which it ends here. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void raise_as_of(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                         fault_record& fault, phase seen_in) {
  auto& round = ws.round();
  if (block.thread_index() == 0 && block.elect(&round.fault_elected)) {
    fault.phase = frame.which;
    fault.epoch = frame.epoch;
    fault.entered_ns = frame.start_ns;
    fault.waited_ns = block.now_ns() - frame.start_ns;
    fault.timeout_ns = frame.timeout_ns;
    fault.missing = incomplete_peers(block, ws, frame);
    if (is_lamport(frame) && fault.awaited == awaited::rows && fault.rank >= 0) insert(fault.missing, fault.rank);
    if (fault.origin < 0) fault.origin = ws.rank;
    tell_arrivals(block, ws, frame.which, frame.epoch, frame.parity);
    tell_mask_difference(block, ws, frame, fault);
    block.record(ws.mailbox, fault);
    tell_all_ranks(block, ws, fault, seen_in, frame.incarnation);
  }
  block.sync();
}

template <block Block>
SWITCHYARD_DEVICE void raise(Block& block, const workspace_handle& ws, const phase_frame& frame, fault_record& fault) {
  raise_as_of(block, ws, frame, fault, frame.which);
}

/// For words that a living rank has sent or is about to: not for long, and past a notice of the same fault. [team]
template <block Block>
SWITCHYARD_DEVICE wait_bounds patient_bounds(Block& block, const phase_frame& frame) {
  auto bounds = bounds_for(frame, awaited::header);
  bounds.notice = nullptr;  // both values are worth a moment
  const auto patience = block.broadcast(block.now_ns()) + std::uint64_t{Block::patience_ns};
  if (patience < bounds.deadline_ns) bounds.deadline_ns = patience;
  return bounds;
}

/// Compares the words of `source`'s header, whose digest differs, one by one. False when they did not all come: its
/// sender stores them together, so they are due at once, and one that died between is not waited for long. [team]
template <block Block>
SWITCHYARD_DEVICE_APART bool spell_out_mismatch(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                                std::int32_t source, fault_record& fault) {
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  const auto bounds = patient_bounds(block, frame);
  const auto compared = must_match_words();
  const auto came = block.wait_all(
      compared.size(),
      [&](std::uint64_t i) {
        const auto index = static_cast<std::uint64_t>(compared[i].word);
        return layout::tag_of(block.poll(words + index)) == frame.epoch;
      },
      bounds, [] { return false; });
  if (came != wait_status::ready) return false;
  fault.code = fault_code::bad_header;  // unless a field differs: then the digest had a reason
  fault.rank = source;
  SWITCHYARD_ROLLED
  for (const auto& entry : compared) {
    const bool is_mask = entry.word == header_word::rank_mask;
    const auto mine = is_mask ? mask_word(block, ws, frame.which) : declared(frame, entry.word);
    const auto theirs = layout::data_of(block.poll(words + static_cast<std::uint64_t>(entry.word)));
    if (theirs == mine) continue;
    fault.code = is_mask ? fault_code::mask_changed : fault_code::step_mismatch;
    fault.field = field_of(entry, frame.which);
    fault.expected = mine;
    fault.actual = theirs;
    break;
  }
  return true;
}

/// Whether `source` has declared another step than this rank, as far as its header is here. [thread]
template <block Block>
SWITCHYARD_DEVICE bool differs(Block& block, const workspace_handle& ws, const phase_frame& frame,
                               std::int32_t source) {
  const auto word = block.poll(ws.header(ws.rank, frame.which, frame.parity, source));
  return layout::tag_of(word) == frame.epoch && layout::data_of(word) != frame.digest;
}

/// Looks for a header that declares another step than this rank does, and spells it out. Whoever was the first to see
/// the mismatch had no notice, so it was waiting, and has sent its own header or is about to; so has the rank whose
/// header it saw. One of the two differs from this rank's. A rank that was told of the fault when it came may never
/// send one, so no rank in particular is waited for. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void look_for_mismatch(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                               fault_record& fault) {
  const auto first_that_differs = [&] {
    std::int32_t source = 0;
    SWITCHYARD_ROLLED
    while (source < ws.ep_size && !differs(block, ws, frame, source)) ++source;
    return source;
  };
  const auto is_here = [&](std::uint64_t) { return first_that_differs() < ws.ep_size; };
  (void)block.wait_all(1, is_here, patient_bounds(block, frame), [] { return false; });
  const auto source = block.broadcast(block.thread_index() == 0 ? first_that_differs() : 0);
  if (source < ws.ep_size) (void)spell_out_mismatch(block, ws, frame, source, fault);
}

/// Leaves because of a notice. A mismatch that this rank can see for itself is worth more than hearsay; what differs in
/// the routing alone is between two ranks.
template <block Block>
SWITCHYARD_DEVICE_APART void raise_from_notice(Block& block, const workspace_handle& ws, const phase_frame& frame) {
  const auto told = decode(layout::data_of(block.broadcast(block.poll(frame.bounds.notice))));
  const bool is_declared = told.field != step_field::row_count && told.field != step_field::routed_bitmap;
  fault_record fault;
  const bool differs = told.code == fault_code::step_mismatch || told.code == fault_code::mask_changed;
  if (differs && told.where == frame.which && is_declared) {
    look_for_mismatch(block, ws, frame, fault);
  }
  if (fault.code == fault_code::none) {
    fault.code = told.code;
    fault.rank = told.rank;
    fault.field = told.field;
    fault.from_notice = 1;
    fault.origin = told.origin;
  }
  raise_as_of(block, ws, frame, fault, told.where);
}

/// The fault of a wait that ended otherwise than it should. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void raise_from_wait(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                             wait_status status, awaited what, std::int32_t about) {
  if (status == wait_status::notice) return raise_from_notice(block, ws, frame);
  fault_record fault;
  fault.code = status == wait_status::probed ? fault_code::order_mismatch : fault_code::timeout;
  fault.awaited = what;
  fault.rank = about;
  raise(block, ws, frame, fault);
}

/// Turns the end of a wait into a fault unless the wait was fulfilled. `about` is the rank that was waited for, or -1.
/// Returns whether the role may go on. [team]
template <block Block>
SWITCHYARD_DEVICE bool settle(Block& block, const workspace_handle& ws, const phase_frame& frame, wait_status status,
                              awaited what, std::int32_t about) {
  if (status == wait_status::ready) return true;
  raise_from_wait<Block>(block, ws, frame, status, what, about);
  return false;
}

}  // namespace switchyard::protocol
