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

/// What a block finds at the door, read by one thread and told to all. Everything is under way before the first is
/// looked at: each takes an access to memory.
enum class standing : std::uint32_t { sound, noticed, failed };
struct entry_words {
  std::uint64_t start_ns;
  std::uint32_t ticket;
  standing stands;
};

/// Whether a block may go on: not when the workspace is poisoned, when a peer has already told of a fault, or when
/// another phase is due. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void refuse(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                    standing stands, std::uint32_t phase_due) {
  if (stands == standing::failed) return;
  if (stands == standing::noticed) {
    return raise_from_wait<Block>(block, ws, frame, wait_status::notice, awaited::nothing, -1);
  }
  raise_out_of_order<Block>(block, ws, frame, phase_due);
}
template <block Block>
SWITCHYARD_DEVICE bool may_go_on(Block& block, const workspace_handle& ws, const phase_frame& frame, standing stands,
                                 std::uint32_t phase_due) {
  if (stands == standing::sound && phase_due == static_cast<std::uint32_t>(frame.which)) return true;
  refuse<Block>(block, ws, frame, stands, phase_due);
  return false;
}

/// Enters a phase: reads where the workspace stands, draws the first ticket, and opens the phase where it may go on.
/// `prepare` readies the scratch for the first role, and whatever of it takes time goes on meanwhile.
template <block Block, class Prepare>
SWITCHYARD_DEVICE phase_frame enter(Block& block, const workspace_handle& ws, phase which, const step_words& words,
                                    std::uint32_t words_digest, Prepare prepare) {
  auto& round = ws.round();
  const auto* notice = ws.local<std::uint64_t>(ws.layout.offset_of(layout::region::notice));
  entry_words found{};
  std::uint32_t poison = 0;
  std::uint64_t told = 0;
  if (block.thread_index() == 0) {
    found.ticket = block.draw_ticket(&round.next_ticket);
    found.start_ns = block.first_entry(&round.phase_start_ns, block.now_ns());
    poison = block.load_u32(&round.poison);
    told = block.poll(notice);
  }
  phase_frame frame;
  frame.which = which;
  frame.epoch = round.epoch;
  frame.parity = round.step_index & 1U;
  frame.incarnation = round.incarnation;
  const auto phase_due = round.phase_due;
  frame.timeout_ns = round.warm_phases_left > 0 ? round.warmup_timeout_ns : round.timeout_ns;
  prepare();
  frame.words = &words;
  frame.digest = finished_digest(with_mask(words_digest, mask_word(block, ws, which)), frame.incarnation);
  found.stands = poison != 0                                                          ? standing::failed
                 : layout::is_heard<Block::may_mask>(told, notice, frame.incarnation) ? standing::noticed
                                                                                      : standing::sound;
  found = block.broadcast(found);
  frame.first_role = found.ticket;
  frame.start_ns = found.start_ns;
  frame.bounds = {notice, frame.incarnation, frame.start_ns + frame.timeout_ns, awaited::nothing};
  frame.open = may_go_on(block, ws, frame, found.stands, phase_due);
  return frame;
}

/// Runs roles 0 .. num_roles - 1, each by the block that draws its ticket. Roles that wait do so only for roles before
/// them, here and at peers, so a grid of any size, even one block, gets through. `run(role)` returns false to make the
/// block leave; `prepare()` readies the scratch for the next role. From role `first_waiting` on nothing is sent.
/// Returns whether all of the block's roles succeeded.
template <block Block, class Prepare, class Run>
SWITCHYARD_DEVICE bool run_roles(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                 std::uint64_t num_roles, std::uint64_t first_waiting, Prepare prepare, Run run) {
  SWITCHYARD_ROLLED
  for (std::uint64_t role = frame.first_role;;) {
    if (role >= first_waiting) block.allow_next_launch();  // all that is to be sent has begun to be
    if (role >= num_roles) return true;
    if (!run(role)) return false;
    if (ws.num_blocks >= num_roles) return true;  // each block has had its role
    block.sync();                                 // the next role uses the scratch again
    prepare();
    role = block.broadcast(block.thread_index() == 0 ? block.draw_ticket(&ws.round().next_ticket) : 0U);
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

/// The round after a phase that has succeeded.
struct next_round {
  std::uint32_t epoch;
  std::uint32_t phase_due;
  std::uint64_t step_index;
  std::uint32_t warm_phases_left;
};
SWITCHYARD_DEVICE inline next_round state_after(phase which, std::uint32_t epoch, std::uint64_t step_index,
                                                std::uint32_t warm_phases_left) {
  const bool step_ends = which == phase::combine;
  return {layout::next_epoch(epoch), static_cast<std::uint32_t>(step_ends ? phase::dispatch : phase::combine),
          step_ends ? step_index + 1 : step_index, warm_phases_left > 0 ? warm_phases_left - 1 : 0};
}
/// [thread]
template <block Block>
SWITCHYARD_DEVICE void store_round(Block& block, const workspace_handle& ws, const next_round& next) {
  auto& round = ws.round();
  block.store_u32(&round.epoch, next.epoch);
  block.store_u32(&round.phase_due, next.phase_due);
  block.store_u64(&round.step_index, next.step_index);
  block.store_u32(&round.warm_phases_left, next.warm_phases_left);
}
/// The same for one block of Lamport phases. [thread]
template <block Block>
SWITCHYARD_DEVICE void store_block_state(Block& block, const workspace_handle& ws, std::uint32_t index,
                                         const next_round& next) {
  auto& state = ws.block_state(index);
  block.store_u32(&state.epoch, next.epoch);
  block.store_u32(&state.claim, layout::unclaimed(next.epoch));
  block.store_u32(&state.phase_due, next.phase_due);
  block.store_u32(&state.warm_phases_left, next.warm_phases_left);
  block.store_u64(&state.step_index, next.step_index);
}

/// What a block adds to blocks_done: one, and this when it has failed.
inline constexpr std::uint32_t block_failed = 1U << 16;

/// Leaves a phase. The last block to arrive has seen all others leave (arrive is acquire and release), so nobody else
/// of this rank touches the workspace: it makes a failed phase harmless with `spoil`, or moves the round state on. A
/// phase all of whose waits were fulfilled has its result, whatever peers say of faults meanwhile: what it read is this
/// rank's own memory (docs/protocol.md).
template <block Block, class Spoil>
SWITCHYARD_DEVICE void leave(Block& block, const workspace_handle& ws, const phase_frame& frame, bool succeeded,
                             Spoil spoil) {
  auto& round = ws.round();
  // Told by each launch anew which phase it is, from words that this launch alone changes, and only here: once every
  // block has arrived, which this one does after its barrier.
  const auto next = state_after(frame.which, frame.epoch, round.step_index, round.warm_phases_left);
  block.sync();
  const auto reset = [&] {
    block.store_u32(&round.next_ticket, 0);
    block.store_u32(&round.next_role, 0);
    block.store_u32(&round.chunks_sent, 0);
    block.store_u32(&round.next_wait, 0);
    block.store_u32(&round.blocks_done, 0);
    block.store_u64(&round.phase_start_ns, 0);
  };
  enum class part : std::uint32_t { none, moves_on, spoils };
  auto mine = part::none;
  if (block.thread_index() == 0) {
    const auto before = block.arrive(&round.blocks_done, succeeded ? 1U : 1U + block_failed);
    if (before % block_failed + 1 == ws.num_blocks) {
      mine = !succeeded || before >= block_failed ? part::spoils : part::moves_on;
    }
  }
  mine = block.broadcast(mine);
  if (mine == part::none) return;
  if (mine == part::moves_on) {
    if (block.thread_index() == 0) {
      store_round(block, ws, next);
      reset();
    }
    if (ws.layout.dims.lamport_tokens == 0) return;
    SWITCHYARD_ROLLED
    for (auto i = block.thread_index(); i < layout::max_lamport_blocks; i += block.num_threads()) {
      store_block_state(block, ws, i, next);
    }
    return;
  }
  await_announcement<Block>(block, ws);
  spoil();
  block.sync();
  if (block.thread_index() != 0) return;
  block.store_u32(&round.poison, 1);
  reset();
}

/// Posts one of the fixed words of this rank's header to `receiver`; row_count is posted by whoever knows it. [thread]
template <block Block>
SWITCHYARD_DEVICE void post_fixed_word(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                       const step_words& words, std::int32_t receiver, std::uint32_t index) {
  auto* slot = ws.header(receiver, frame.which, frame.parity, ws.rank);
  auto data = words[index];
  if (index == static_cast<std::uint32_t>(header_word::digest)) data = frame.digest;
  if (index == static_cast<std::uint32_t>(header_word::incarnation)) data = frame.incarnation;
  if (index == static_cast<std::uint32_t>(header_word::rank_mask)) data = mask_word(block, ws, frame.which);
  block.post(slot + index, layout::tagged(data, frame.epoch));
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

/// Whether `source` has sent a header of this epoch in the slots of the other phase: it took the steps in another
/// order. [thread]
template <block Block>
SWITCHYARD_DEVICE bool is_ahead(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                std::int32_t source) {
  const auto other = frame.which == phase::dispatch ? phase::combine : phase::dispatch;
  const auto is_fresh = [&](std::uint64_t parity) {
    return layout::tag_of(block.poll(ws.header(ws.rank, other, parity, source))) == frame.epoch;
  };
  return is_fresh(0) || is_fresh(1);
}

/// Waits for the header of `source` and checks that it declares the same step. on_word(word, bits) is called by one
/// thread for each word of the bitmap; told_rows of the tally is the header's row_count. `notes_arrival`: this role is
/// the first to wait for that header. Returns whether the role may go on. The tally must read 0 before. [team]
template <block Block, class OnWord>
SWITCHYARD_DEVICE bool await_header(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                    std::uint64_t tokens_per_rank, std::int32_t source, header_tally& tally,
                                    OnWord on_word, bool notes_arrival = true) {
  const auto* words = ws.header(ws.rank, frame.which, frame.parity, source);
  const auto probe = [&] { return is_ahead(block, ws, frame, source); };
  // The last thread notes when the header came, because it is the first that will wait for the others; what was here
  // when it looked took no time of anybody's.
  const bool notes = notes_arrival && block.thread_index() + 1 == block.num_threads();
  const bool was_here = notes && layout::tag_of(block.poll(words)) == frame.epoch;  // under way meanwhile
  // A peer with another T sends another number of words, and must be told apart at once: its digest ends the wait for
  // every word.
  const auto status = block.wait_all(
      2 + (tokens_per_rank + 31) / 32,
      [&](std::uint64_t i) {
        const auto index = i == 0   ? static_cast<std::uint64_t>(header_word::digest)
                           : i == 1 ? static_cast<std::uint64_t>(header_word::row_count)
                                    : bitmap_word + i - 2;
        const auto digest = block.poll(words);
        const auto word = block.poll(words + index);  // under way together with the digest
        if (layout::tag_of(digest) != frame.epoch) return false;
        if constexpr (checks_headers<Block>()) {
          if (i == 0) tally.digest = layout::data_of(digest);
          if (layout::data_of(digest) != frame.digest) return true;
        }
        if (layout::tag_of(word) != frame.epoch) return false;
        if (i == 1) tally.told_rows = layout::data_of(word);
        if (i >= 2) on_word(i - 2, layout::data_of(word));
        return true;
      },
      bounds_for(frame, awaited::header), probe);
  if (!settle(block, ws, frame, status, awaited::header, source)) return false;
  if (notes) note_arrival(block, ws, frame, source, was_here ? 0 : block.now_ns() - frame.start_ns);
  if (!checks_headers<Block>() || tally.digest == frame.digest) return true;
  raise_from_digest<Block>(block, ws, frame, source);
  return false;
}

}  // namespace switchyard::protocol
