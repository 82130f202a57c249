// SPDX-License-Identifier: Apache-2.0
// What all phases share: entering, taking roles, faulting, leaving.
#pragma once

#include <cstdint>

#include "protocol/block.hpp"
#include "protocol/header.hpp"
#include "protocol/params.hpp"

namespace switchyard::protocol {

/// What a block knows of the phase it is in.
struct phase_frame {
  phase which = phase::dispatch;
  bool open = false;  ///< false: poisoned or faulted at entry, no role is run
  std::uint32_t epoch = 0;
  std::uint64_t parity = 0;
  std::uint32_t incarnation = 0;
  std::uint32_t digest = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t timeout_ns = 0;
  wait_bounds bounds;
};

/// Peers whose header of this phase has not come.
template <block Block>
rank_set missing_headers(Block& block, const workspace_handle& ws, const phase_frame& frame) {
  rank_set missing{};
  for (std::int32_t source = 0; source < ws.ep_size; ++source) {
    const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
    if (layout::tag_of(block.poll(words)) != frame.epoch) insert(missing, source);
  }
  return missing;
}

/// Records `fault` unless this workspace has one already, and tells every rank, itself included, so that all of them
/// leave their waits. Fills in what every record holds.
template <block Block>
void raise(Block& block, const workspace_handle& ws, const phase_frame& frame, fault_record fault) {
  if (block.thread_index() == 0 && block.elect(&ws.round().fault_elected)) {
    fault.phase = frame.which;
    fault.epoch = frame.epoch;
    fault.waited_ns = block.now_ns() - frame.start_ns;
    fault.timeout_ns = frame.timeout_ns;
    if (fault.origin < 0) fault.origin = ws.rank;
    block.record(ws.mailbox, fault);
    const notice told{fault.code, frame.which, fault.field, static_cast<std::uint8_t>(fault.origin), fault.rank};
    const auto word = layout::tagged(encode(told), frame.incarnation);
    const auto offset = ws.layout.offset_of(layout::region::notice);
    for (std::int32_t peer = 0; peer < ws.ep_size; ++peer) block.post(ws.at<std::uint64_t>(peer, offset), word);
  }
  block.sync();
}

/// The words of `source`'s valid header of another step, compared one by one. False when they never all came.
template <block Block>
bool spell_out_mismatch(Block& block, const workspace_handle& ws, const phase_frame& frame, const step_words& own,
                        std::int32_t source, fault_record& fault) {
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  // The sender stores all fixed words together, so they are due at once; the bound is for a sender that died between.
  const auto came = block.wait_all(
      fixed_header_words,
      [&](std::uint64_t i) {
        return i == static_cast<std::uint64_t>(header_word::row_count) ||
               layout::tag_of(block.poll(words + i)) == frame.epoch;
      },
      frame.bounds, [] { return false; });
  if (came == wait_status::expired) return false;
  fault.code = fault_code::bad_header;  // unless a field differs: then the digest had a reason
  fault.rank = source;
  for (const auto& entry : must_match_words) {
    const auto mine = entry.word == header_word::incarnation ? frame.incarnation : get(own, entry.word);
    const auto theirs = block.poll(words + static_cast<std::uint64_t>(entry.word));
    if (layout::tag_of(theirs) != frame.epoch || layout::data_of(theirs) == mine) continue;
    fault.code = fault_code::step_mismatch;
    fault.field = entry.field;
    fault.expected = mine;
    fault.actual = layout::data_of(theirs);
    break;
  }
  return true;
}

/// Leaves a wait because of a notice. A mismatch that this rank can see for itself is worth more than hearsay.
template <block Block>
void raise_from_notice(Block& block, const workspace_handle& ws, const phase_frame& frame, const step_words& own) {
  const auto told = decode(layout::data_of(block.poll(frame.bounds.notice)));
  fault_record fault;
  if (told.code == fault_code::step_mismatch) {
    for (std::int32_t source = 0; source < ws.ep_size && fault.code == fault_code::none; ++source) {
      const auto word = block.poll(ws.header(ws.rank, frame.which, frame.parity, source));
      if (layout::tag_of(word) != frame.epoch || layout::data_of(word) == frame.digest) continue;
      auto unbounded = frame;  // the notice is known; only the deadline bounds this
      unbounded.bounds.notice = nullptr;
      (void)spell_out_mismatch(block, ws, unbounded, own, source, fault);
    }
  }
  if (fault.code == fault_code::none) {
    fault.code = told.code;
    fault.rank = told.rank;
    fault.field = told.field;
    fault.from_notice = 1;
    fault.origin = told.origin;
  }
  fault.missing = missing_headers(block, ws, frame);
  raise(block, ws, frame, fault);
}

/// Turns the end of a wait into a fault unless the wait was fulfilled. `about` is the rank that was waited for.
/// Returns whether the role may go on. [team]
template <block Block>
bool settle(Block& block, const workspace_handle& ws, const phase_frame& frame, const step_words& own,
            wait_status status, std::int32_t about) {
  if (status == wait_status::ready) return true;
  if (status == wait_status::notice) {
    raise_from_notice(block, ws, frame, own);
    return false;
  }
  fault_record fault;
  fault.rank = about;
  fault.missing = missing_headers(block, ws, frame);
  if (status == wait_status::probed) {
    fault.code = fault_code::order_mismatch;
  } else {
    fault.code = fault_code::timeout;
    if (about >= 0) insert(fault.missing, about);
  }
  raise(block, ws, frame, fault);
  return false;
}

/// Enters a phase: reads where the workspace stands and refuses to go on when it is poisoned, when a peer has already
/// told of a fault, or when another phase is due.
template <block Block>
phase_frame enter(Block& block, const workspace_handle& ws, phase which, const step_words& words) {
  auto& round = ws.round();
  phase_frame frame;
  frame.which = which;
  frame.epoch = round.epoch;
  frame.parity = round.step_index & 1U;
  frame.incarnation = round.incarnation;
  frame.start_ns = block.first_entry(&round.phase_start_ns, block.now_ns());
  frame.timeout_ns = round.warm_phases_left > 0 ? round.warmup_timeout_ns : round.timeout_ns;
  frame.bounds = {ws.local<std::uint64_t>(ws.layout.offset_of(layout::region::notice)), round.incarnation,
                  frame.start_ns + frame.timeout_ns};
  auto complete = words;
  set(complete, header_word::incarnation, frame.incarnation);
  frame.digest = digest_of(complete);

  if (block.load_u32(&round.poison) != 0) return frame;
  if (layout::tag_of(block.poll(frame.bounds.notice)) == frame.incarnation) {
    raise_from_notice(block, ws, frame, words);
    return frame;
  }
  if (round.phase_due != static_cast<std::uint32_t>(which)) {
    fault_record fault;
    fault.code = fault_code::out_of_order;
    fault.rank = ws.rank;
    fault.expected = round.phase_due;
    fault.actual = static_cast<std::uint64_t>(which);
    raise(block, ws, frame, fault);
    return frame;
  }
  frame.open = true;
  return frame;
}

/// Runs roles 0 .. num_roles - 1, each by the block that draws its ticket. Send roles come first: a block then waits
/// only for peers and for roles that some block has already begun, so a grid of any size, even one block, gets through.
/// `run(role)` returns false to make the block leave.
template <block Block, class Run>
void run_roles(Block& block, const workspace_handle& ws, std::uint64_t num_roles, Run run) {
  for (;;) {
    const std::uint64_t role = block.take_ticket(&ws.round().next_ticket);
    if (role >= num_roles || !run(role)) return;
    block.sync();
  }
}

/// Leaves a phase. The last block to arrive has seen all others leave (arrive is acquire and release), so nobody else
/// of this rank touches the workspace: it makes a failed phase harmless with `spoil`, or moves the round state on.
template <block Block, class Spoil>
void leave(Block& block, const workspace_handle& ws, const phase_frame& frame, Spoil spoil) {
  block.sync();
  auto& round = ws.round();
  if (block.arrive(&round.blocks_done) + 1 != ws.num_blocks) return;
  const bool failed = block.load_u32(&round.poison) != 0 || block.load_u32(&round.fault_elected) != 0;
  if (failed) spoil();
  block.sync();
  if (block.thread_index() == 0) {
    if (failed) {
      block.store_u32(&round.poison, 1);
    } else {
      const auto next = frame.which == phase::dispatch ? phase::combine : phase::dispatch;
      block.store_u32(&round.epoch, layout::next_epoch(frame.epoch));
      block.store_u32(&round.phase_due, static_cast<std::uint32_t>(next));
      if (next == phase::dispatch) block.store_u64(&round.step_index, round.step_index + 1);
      if (round.warm_phases_left > 0) block.store_u32(&round.warm_phases_left, round.warm_phases_left - 1);
    }
    block.store_u32(&round.next_ticket, 0);
    block.store_u32(&round.blocks_done, 0);
    block.store_u64(&round.phase_start_ns, 0);
  }
}

/// Posts the fixed words of this rank's header to `receiver`, but for row_count. [thread]
template <block Block>
void post_fixed_word(Block& block, const workspace_handle& ws, const phase_frame& frame, const step_words& words,
                     std::int32_t receiver, std::uint64_t index) {
  auto value = words[index];
  if (index == static_cast<std::uint64_t>(header_word::digest)) value = frame.digest;
  if (index == static_cast<std::uint64_t>(header_word::incarnation)) value = frame.incarnation;
  auto* slot = ws.header(receiver, frame.which, frame.parity, ws.rank);
  block.post(slot + index, layout::tagged(value, frame.epoch));
}

/// Waits for the header of `source` and checks that it declares the same step. Returns whether the role may go on; then
/// row_count and the bitmap words of T tokens are there. [team]
template <block Block>
bool await_header(Block& block, const workspace_handle& ws, const phase_frame& frame, const step_words& own,
                  std::uint64_t tokens_per_rank, std::int32_t source) {
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  const auto other = frame.which == phase::dispatch ? phase::combine : phase::dispatch;
  // A header of this epoch in the slots of the other phase: that peer took the steps in another order.
  const auto probe = [&] {
    return layout::tag_of(block.poll(ws.header(ws.rank, other, 0, source))) == frame.epoch ||
           layout::tag_of(block.poll(ws.header(ws.rank, other, 1, source))) == frame.epoch;
  };
  // The digest first: a peer with another T sends another number of words, and must be told apart at once.
  auto status = block.wait_all(
      1, [&](std::uint64_t) { return layout::tag_of(block.poll(words)) == frame.epoch; }, frame.bounds, probe);
  if (!settle(block, ws, frame, own, status, source)) return false;
  if (layout::data_of(block.poll(words)) != frame.digest) {
    fault_record fault;
    if (!spell_out_mismatch(block, ws, frame, own, source, fault)) {
      return settle(block, ws, frame, own, wait_status::expired, source);
    }
    fault.missing = missing_headers(block, ws, frame);
    raise(block, ws, frame, fault);
    return false;
  }
  const auto bitmap_words = (tokens_per_rank + 31) / 32;
  const auto row_count = static_cast<std::uint64_t>(header_word::row_count);
  status = block.wait_all(
      1 + bitmap_words,
      [&](std::uint64_t i) {
        const auto index = i == 0 ? row_count : bitmap_word + i - 1;
        return layout::tag_of(block.poll(words + index)) == frame.epoch;
      },
      frame.bounds, [] { return false; });
  return settle(block, ws, frame, own, status, source);
}

}  // namespace switchyard::protocol
