// SPDX-License-Identifier: Apache-2.0
// What all phases share: entering, taking roles, exchanging headers, leaving.
#pragma once

#include <bit>
#include <cstdint>

#include "protocol/fault.hpp"

namespace switchyard::protocol {

template <block Block>
SWITCHYARD_DEVICE_APART void raise_out_of_order(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                                std::uint32_t phase_due) {
  fault_record fault;
  fault.code = fault_code::out_of_order;
  fault.rank = ws.rank;
  fault.expected = phase_due;
  fault.actual = static_cast<std::uint64_t>(frame.which);
  raise(block, ws, frame, fault);
}

/// What words that others may change say of a workspace, read by one thread, told to all. All loads are under way
/// before the first is looked at: each takes an access to memory.
enum class standing : std::uint8_t { sound, noticed, failed };
template <block Block>
SWITCHYARD_DEVICE standing standing_of(Block& block, const workspace_handle& ws, const std::uint64_t* notice_word,
                                       std::uint32_t incarnation) {
  auto& round = ws.round();
  const auto poison = block.load_u32(&round.poison);
  const auto elected = block.load_u32(&round.fault_elected);
  const auto notice = block.poll(notice_word);
  if (poison != 0 || elected != 0) return standing::failed;
  return layout::tag_of(notice) == incarnation ? standing::noticed : standing::sound;
}

/// Enters a phase: reads where the workspace stands and refuses to go on when it is poisoned, when a peer has already
/// told of a fault, or when another phase is due.
template <block Block>
SWITCHYARD_DEVICE phase_frame enter(Block& block, const workspace_handle& ws, phase which, const step_words& words,
                                    std::uint32_t words_digest) {
  auto& round = ws.round();
  phase_frame frame;
  frame.which = which;
  frame.epoch = round.epoch;
  frame.parity = round.step_index & 1U;
  frame.incarnation = round.incarnation;
  const auto phase_due = round.phase_due;
  const auto timeout_ns = round.warm_phases_left > 0 ? round.warmup_timeout_ns : round.timeout_ns;
  const auto* notice = ws.local<std::uint64_t>(ws.layout.offset_of(layout::region::notice));
  auto poison = std::uint32_t{0};
  auto told = std::uint64_t{0};
  if (block.thread_index() == 0) {
    poison = block.load_u32(&round.poison);
    told = block.poll(notice);
  }
  frame.start_ns = block.first_entry(&round.phase_start_ns, block.now_ns());
  frame.timeout_ns = timeout_ns;
  frame.bounds = {notice, frame.incarnation, frame.start_ns + timeout_ns, awaited::nothing};
  frame.words = &words;
  frame.digest = finished_digest(words_digest, frame.incarnation);

  const auto found = poison != 0                                 ? standing::failed
                     : layout::tag_of(told) == frame.incarnation ? standing::noticed
                                                                 : standing::sound;
  const auto stands = block.broadcast(found);
  if (stands == standing::failed) return frame;
  if (stands == standing::noticed) {
    raise_from_wait<Block>(block, ws, frame, wait_status::notice, awaited::nothing, -1);
    return frame;
  }
  if (phase_due != static_cast<std::uint32_t>(which)) {
    raise_out_of_order<Block>(block, ws, frame, phase_due);
    return frame;
  }
  frame.open = true;
  return frame;
}

/// Runs roles 0 .. num_roles - 1, each by the block that draws its ticket. Send roles come first: a block then waits
/// only for peers and for roles that some block has already begun, so a grid of any size, even one block, gets through.
/// `run(role)` returns false to make the block leave.
template <block Block, class Run>
SWITCHYARD_DEVICE void run_roles(Block& block, const workspace_handle& ws, std::uint64_t num_roles, Run run) {
  for (;;) {
    const std::uint64_t role = block.take_ticket(&ws.round().next_ticket);
    if (role >= num_roles || !run(role)) return;
    if (ws.num_blocks >= num_roles) return;  // each block has had its role
    block.sync();                            // the next role uses the scratch again
  }
}

/// The record may be that of abort(), half-way. A phase may not end before every peer has its notice. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void await_announcement(handed_over<Block> block, const workspace_handle& ws) {
  constexpr std::uint64_t host_may_be_descheduled_ns = 10'000'000'000;
  const wait_bounds bounds{nullptr, 0, block.broadcast(block.now_ns()) + host_may_be_descheduled_ns, awaited::nothing};
  (void)block.wait_all(
      1, [&](std::uint64_t) { return block.load_u32(&ws.round().fault_announced) != 0; }, bounds, [] { return false; });
  block.sync();
}

/// Whether this rank's phase has failed, seen by its last block. A notice counts even when every wait was fulfilled:
/// the rank that sent it may since have let its stream overwrite rows that this phase has read. Reading it here is
/// ordered after those reads by arrive.
template <block Block>
SWITCHYARD_DEVICE bool has_failed(Block& block, const workspace_handle& ws, const phase_frame& frame) {
  const auto look = [&] {
    const bool speaks = block.thread_index() == 0;
    return block.broadcast(speaks ? standing_of(block, ws, frame.bounds.notice, frame.incarnation) : standing::sound);
  };
  auto stands = look();
  if (stands == standing::noticed) {
    raise_from_wait<Block>(block, ws, frame, wait_status::notice, awaited::nothing, -1);
    stands = look();
  }
  if (stands == standing::sound) return false;
  await_announcement<Block>(block, ws);
  return true;
}

/// Leaves a phase. The last block to arrive has seen all others leave (arrive is acquire and release), so nobody else
/// of this rank touches the workspace: it makes a failed phase harmless with `spoil`, or moves the round state on.
template <block Block, class Spoil>
SWITCHYARD_DEVICE void leave(Block& block, const workspace_handle& ws, const phase_frame& frame, Spoil spoil) {
  block.sync();
  auto& round = ws.round();
  if (block.arrive(&round.blocks_done) + 1 != ws.num_blocks) return;
  const bool failed = has_failed(block, ws, frame);
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

/// Set bits of a bitmap over `tokens` tokens, counted by the whole team. [team]
template <block Block, class Word>
SWITCHYARD_DEVICE std::uint32_t count_bits_together(Block& block, const Word& word_at, std::uint64_t tokens) {
  std::uint32_t mine = 0;
  for (std::uint64_t word = block.thread_index(); word * 32 < tokens; word += block.num_threads()) {
    mine += static_cast<std::uint32_t>(std::popcount(word_at(word) & bits_within(word, 0, tokens)));
  }
  return block.team_sum(mine);
}

/// Posts one of the fixed words of this rank's header to `receiver`; row_count is posted by whoever knows it. [thread]
template <block Block>
SWITCHYARD_DEVICE void post_fixed_word(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                       std::int32_t receiver, std::uint64_t index) {
  const bool is_digest = index == static_cast<std::uint64_t>(header_word::digest);
  auto* slot = ws.header(receiver, frame.which, frame.parity, ws.rank);
  block.post(slot + index, layout::tagged(is_digest ? frame.digest : declared(frame, index), frame.epoch));
}

/// The fault of a header whose digest differs. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void raise_from_digest(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                               std::int32_t source) {
  fault_record fault;
  if (spell_out_mismatch(block, ws, frame, source, fault)) return raise(block, ws, frame, fault);
  const bool told = block.broadcast(has_notice(block, frame));
  raise_from_wait<Block>(block, ws, frame, told ? wait_status::notice : wait_status::expired, awaited::header, source);
}

/// Waits for the header of `source` and checks that it declares the same step. Returns whether the role may go on; then
/// row_count and the bitmap words of T tokens are there. [team]
template <block Block>
SWITCHYARD_DEVICE bool await_header(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                    std::uint64_t tokens_per_rank, std::int32_t source) {
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  const auto is_fresh = [&](const std::uint64_t* word) { return layout::tag_of(block.poll(word)) == frame.epoch; };
  const auto other = frame.which == phase::dispatch ? phase::combine : phase::dispatch;
  // A header of this epoch in the slots of the other phase: that peer took the steps in another order.
  const auto probe = [&] {
    return is_fresh(ws.header(ws.rank, other, 0, source)) || is_fresh(ws.header(ws.rank, other, 1, source));
  };
  // A peer with another T sends another number of words, and must be told apart at once: its digest ends the wait for
  // every word.
  const auto status = block.wait_all(
      2 + (tokens_per_rank + 31) / 32,
      [&](std::uint64_t i) {
        const auto digest = block.poll(words);
        if (layout::tag_of(digest) != frame.epoch) return false;
        if (i == 0 || layout::data_of(digest) != frame.digest) return true;
        return is_fresh(words + (i == 1 ? static_cast<std::uint64_t>(header_word::row_count) : bitmap_word + i - 2));
      },
      bounds_for(frame, awaited::header), probe);
  if (!settle(block, ws, frame, status, awaited::header, source)) return false;
  if (layout::data_of(block.broadcast(block.poll(words))) == frame.digest) return true;
  raise_from_digest<Block>(block, ws, frame, source);
  return false;
}

}  // namespace switchyard::protocol
