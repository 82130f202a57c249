// SPDX-License-Identifier: Apache-2.0
// What the Lamport phases share: entering without a word that all blocks of the rank meet at, credits, headers, and the
// sends of blocks that have not come. How they are left: lamport_leave.hpp.
//
// Work is dealt by the number of a block. The last block is the clerk: it sends and awaits what is told once; where it
// is the only one it also does what the others, the workers, do. All that a block sends it sends before it waits.
// Whoever has waited for long sends what blocks that are not resident have not claimed, so that a grid of which only a
// part is resident sends everything (docs/decisions/013).
//
// The usual course of a worker is written out apart from everything else, and ends in a call of the rest where
// something is unusual: what a function may need after a call that it hardly ever makes would be kept in memory all the
// time.
#pragma once

#include <cstdint>

#include "protocol/mask_latch.hpp"
#include "protocol/phase.hpp"

namespace switchyard::protocol {

/// Where a block of a Lamport phase stands: in the team's scratch, because a usual course needs little of it. On a GPU
/// a thread that waits for each of its instructions gets through some 250 of them in a microsecond.
struct lamport_frame : phase_frame {
  std::uint64_t step_index;
  std::uint32_t warm_phases_left;
  std::uint32_t lamport_epoch;  ///< of the last Lamport phase, 0: there was none
  std::uint32_t phase_due;
  standing stands;
  std::uint32_t claim;  ///< what stood there: 0 in its lowest bit where nobody has sent what this block is to send
};
inline constexpr std::uint64_t lamport_frame_words = (sizeof(lamport_frame) + 15) / 16 * 4;
static_assert(lamport_frame_words <= most_lamport_frame_words);
template <block Block>
SWITCHYARD_DEVICE lamport_frame& lamport_frame_of(Block& block, std::uint64_t words) {
  return *reinterpret_cast<lamport_frame*>(block.scratch(words));
}
/// Behind it, what the leader tells the team of a row that it sends or sums.
template <block Block>
SWITCHYARD_DEVICE std::uint64_t* lamport_plan_of(Block& block, std::uint64_t words) {
  return reinterpret_cast<std::uint64_t*>(block.scratch(words) + most_lamport_frame_words);
}

SWITCHYARD_DEVICE inline std::uint32_t num_workers(const workspace_handle& ws) {
  return ws.num_blocks > 1 ? ws.num_blocks - 1 : 1;
}
SWITCHYARD_DEVICE inline bool is_worker(const workspace_handle& ws, std::uint32_t block) {
  return block < num_workers(ws);
}
SWITCHYARD_DEVICE inline bool is_clerk(const workspace_handle& ws, std::uint32_t block) {
  return block == ws.num_blocks - 1;
}

constexpr phase other_phase(phase which) { return which == phase::dispatch ? phase::combine : phase::dispatch; }

/// Waits for credits that have not come when this rank wants to store: their granter is in the phase before this one.
/// [team]
template <block Block>
SWITCHYARD_DEVICE_APART bool await_credits(handed_over<Block> block, const workspace_handle& ws,
                                           const lamport_frame& frame) {
  const auto active = active_in(block, ws, frame.which);
  const auto has_come = [&](std::uint64_t granter) {
    const auto rank = static_cast<std::int32_t>(granter);
    if (rank == ws.rank || !active.contains(rank)) return true;
    const auto tag = layout::tag_of(block.poll_flag(ws.credit(ws.rank, other_phase(frame.which), rank)));
    // Where other blocks have sent all that this rank is to send, its granter may be a phase ahead of this block, and
    // have overwritten its credit by the next one, which covers more.
    return tag == frame.lamport_epoch || tag == layout::next_epoch(frame.epoch);
  };
  const auto ranks = static_cast<std::uint64_t>(ws.ep_size);
  const auto status = block.wait_all(ranks, has_come, bounds_for(frame, awaited::header), [] { return false; });
  block.sync();
  if (status == wait_status::ready) return true;
  std::uint64_t late = 0;
  SWITCHYARD_ROLLED
  while (late < ranks && has_come(late)) ++late;
  const auto about = block.broadcast(late < ranks ? static_cast<std::int32_t>(late) : -1);
  return settle(block, ws, frame, status, awaited::header, about);
}

/// Enters a Lamport phase: reads where the round stands from the block's own copy, claims what the block is to send,
/// and acquires every rank's credit, by the warp that admits, while the leader calls plan(). What is sent first is
/// under way already, so that it is waited for together with everything here. Whether all is as usual: the phase may go
/// on, every credit is there, and the block is to send; of the frame, the epoch and the claim are known then, and what
/// the clerk tells and compares.
///
/// The claim and the looks at poison and notice go to memory together, and none is ordered before another: a block may
/// be seen to have claimed before or after it has looked. That is enough (docs/decisions/013, "Claim and poison"),
/// because:
/// - nothing has been stored before all of them are back, and of a block that finds poison, a notice, or its claim
/// taken
///   nothing ever is, unless it looks again and finds neither. So what a poisoned phase has stored is of blocks that
///   found neither, under credits that they had acquired: words tagged with this epoch, and payload words in rows that
///   their receiver had re-armed. A receiver takes such rows under a presence of this epoch alone. It gets all that it
///   waits for, and is right; or it fails, and nobody looks at its inboxes before recover() has made them anew.
/// - what the block had claimed and does not send nobody else sends. Whoever waits for it is told: every rank has its
///   notice before the workspace is poisoned, be it by abort() or by a phase that has failed; and waits look at the
///   notice and the deadline, never at the poison.
/// - who clears views or outputs first waits for those that have claimed, and takes the claims of those that have not.
///   Such a one looks at the poison again once it has found its claim taken (complete_frame), behind a barrier. [team]
template <block Block, class Params, class Plan>
SWITCHYARD_DEVICE bool enter_lamport(Block& block, const Params& p, phase which, lamport_frame& frame, bool as_clerk,
                                     Plan plan) {
  const workspace_handle& ws = p.ws;
  bool as_usual = true;
  // Long before peers' words are under way, which a release would wait behind.
  if (as_clerk) block.release_launches(static_cast<std::uint64_t>(ws.ep_size));
  if (block.leads()) plan();
  if (block.admits()) {
    auto& round = ws.round();
    auto& own = ws.block_state(block.block_index());
    const auto claim = block.lane() == 0 ? block.fetch_or(&own.claim, 1) : 0;
    const auto poison = block.load_u32(&round.poison);
    const auto told = block.poll(ws.template local<std::uint64_t>(ws.layout.offset_of(layout::region::notice)));
    const auto epoch = own.epoch;
    const auto lamport_epoch = own.lamport_epoch;
    const auto phase_due = own.phase_due;
    const auto incarnation = round.incarnation;
    const auto step_index = as_clerk ? own.step_index : 0;
    // Acquires what peers have re-armed before this phase stores to it: pairs with publish_released in send_as_clerk.
    // The team's barrier hands it on.
    const auto active = active_in(block, ws, which);
    SWITCHYARD_ROLLED
    for (auto i = block.lane(); i < static_cast<std::uint32_t>(ws.ep_size); i += block.lanes()) {
      const auto granter = static_cast<std::int32_t>(i);
      const auto word = block.poll_flag(ws.credit(ws.rank, other_phase(which), granter));
      as_usual &= granter == ws.rank || lamport_epoch == 0 || layout::tag_of(word) == lamport_epoch ||
                  !active.contains(granter);
    }
    if (which == phase::dispatch && !active.are_all()) as_usual &= is_good_mask(block, ws);
    if (block.lane() == 0) {
      frame.epoch = epoch;
      frame.claim = claim;
      if (as_clerk) {
        frame.which = which;
        frame.start_ns = block.now_ns();
        frame.parity = step_index & 1U;
        frame.incarnation = incarnation;
        frame.digest = finished_digest(with_mask(p.words_digest, mask_word(block, ws, which)), incarnation);
      }
    }
    as_usual &= (claim & 1U) == 0 && poison == 0 &&
                !layout::is_heard<Block::may_mask>(told, &ws.notice().word, incarnation) &&
                phase_due == static_cast<std::uint32_t>(which);
  }
  return block.all(as_usual);
}

/// Writes down what a block knows of the phase beyond what a usual course needs. [team]
template <block Block, class Params>
SWITCHYARD_DEVICE void complete_frame(Block& block, const Params& p, phase which, lamport_frame& frame) {
  const workspace_handle& ws = p.ws;
  if (block.thread_index() == 0) {
    auto& round = ws.round();
    const auto& own = ws.block_state(block.block_index());
    const auto* notice = ws.template local<std::uint64_t>(ws.layout.offset_of(layout::region::notice));
    const auto poison = block.load_u32(&round.poison);
    const auto told = block.poll(notice);
    lamport_frame now;
    now.which = which;
    now.words = &p.words;
    now.epoch = own.epoch;
    now.step_index = own.step_index;
    now.warm_phases_left = own.warm_phases_left;
    now.lamport_epoch = own.lamport_epoch;
    now.phase_due = own.phase_due;
    now.incarnation = round.incarnation;
    now.timeout_ns = now.warm_phases_left > 0 ? round.warmup_timeout_ns : round.timeout_ns;
    now.parity = now.step_index & 1U;
    now.digest = finished_digest(with_mask(p.words_digest, mask_word(block, ws, which)), now.incarnation);
    now.start_ns = block.now_ns();
    now.bounds = {notice, now.incarnation, now.start_ns + now.timeout_ns, awaited::nothing};
    now.claim = frame.claim;
    now.stands = poison != 0                                                        ? standing::failed
                 : layout::is_heard<Block::may_mask>(told, notice, now.incarnation) ? standing::noticed
                                                                                    : standing::sound;
    now.open = now.stands == standing::sound && now.phase_due == static_cast<std::uint32_t>(which);
    frame = now;
  }
  block.sync();
}

/// What the clerk sends: tells every rank what this one declares, and that what this one has re-armed in earlier phases
/// may be stored to again. Those re-arming stores are of launches that have ended before this one on the stream, so
/// they happen before the release here; it pairs with the acquire in enter_lamport of each peer's next phase. [team]
template <block Block, class Params>
SWITCHYARD_DEVICE void send_as_clerk(Block& block, const Params& p, const phase_frame& frame, bool released) {
  const workspace_handle& ws = p.ws;
  const auto active = active_in(block, ws, frame.which);
  const auto credit_at = [&](std::uint64_t peer) {
    const auto rank = static_cast<std::int32_t>(peer);
    return rank == ws.rank || !active.contains(rank) ? nullptr : ws.credit(rank, frame.which, ws.rank);
  };
  const auto peers = static_cast<std::uint64_t>(ws.ep_size);
  if (!released) block.release_launches(peers);
  block.publish_released(peers, credit_at, layout::tagged(1, frame.epoch));
  SWITCHYARD_ROLLED
  for (std::int32_t rank = 0; rank < ws.ep_size; ++rank) {
    if (!active.contains(rank)) continue;
    SWITCHYARD_ROLLED
    for (auto index = block.num_threads() - 1 - block.thread_index(); index < fixed_header_words;
         index += block.num_threads()) {
      if (!is_posted_apart(index)) post_fixed_word(block, ws, frame, p.words, rank, index);
    }
  }
}

/// A thread of the clerk on its way through what every source tells it: its header, and who is to come. By the last
/// threads of the team: those that release the credit come later, and should have nothing left to do.
struct header_reader {
  std::int32_t source = 0;
  std::uint32_t token = 0;
  bool differs = false;  ///< the header of some source does
  bool waited = false;   ///< for `source`

  /// `tokens`: whose presence is awaited from every source; on_token(source) is called for those that are here.
  template <class Block, class OnToken>
  SWITCHYARD_DEVICE bool advance(Block& block, const workspace_handle& ws, const phase_frame& frame,
                                 std::uint32_t tokens, OnToken on_token, std::uint32_t polls) {
    const auto me = block.num_threads() - 1 - block.thread_index();
    const auto active = active_in(block, ws, frame.which);
    SWITCHYARD_ROLLED
    for (; source < ws.ep_size; ++source, token = 0) {
      if (!active.contains(source)) continue;
      const auto* header = ws.header(ws.rank, frame.which, frame.parity, source);
      SWITCHYARD_ROLLED
      for (;;) {
        const bool more = token + me < tokens;
        if (!more && !block.leads()) break;
        const auto digest = block.poll(header);
        // Under way together with the digest.
        const auto presence = more ? block.poll(ws.presence(ws.rank, source, token + me)) : 0;
        const bool has_header = layout::tag_of(digest) == frame.epoch;
        if (checks_headers<Block>() && has_header && layout::data_of(digest) != frame.digest) {
          // With another T it sends another number of words: this ends the wait for all of them.
          differs = true;
          break;
        }
        if (has_header && !more) break;
        if (more && layout::tag_of(presence) == frame.epoch) {
          if (layout::data_of(presence) != 0) on_token(source);
          token += block.num_threads();
        } else {
          waited = true;
          if (--polls == 0) return false;
        }
      }
      // What was here when it was looked for took no time of anybody's.
      if (me == 0) note_arrival(block, ws, frame, source, waited ? block.now_ns() - frame.start_ns : 0);
      waited = false;
    }
    return true;
  }
};

/// Sends what blocks of this launch are to send that have not claimed it: they may wait for the places of blocks that
/// wait. Of a phase with these parameters, by its send_part. [team]
template <block Block, class Params>
SWITCHYARD_DEVICE_APART void send_for_others(handed_over<Block> block, const Params& p, phase_frame frame) {
  const workspace_handle& ws = p.ws;
  const auto free = layout::unclaimed(frame.epoch);
  std::uint32_t found = 0;
  SWITCHYARD_ROLLED
  for (auto i = block.thread_index(); i < ws.num_blocks; i += block.num_threads()) {
    if (block.load_u32(&ws.block_state(i).claim) == free) ++found;
  }
  const bool any = block.team_sum(found) != 0;
  SWITCHYARD_ROLLED
  for (std::uint32_t i = 0; any && i < ws.num_blocks; ++i) {
    const bool mine = block.thread_index() == 0 && block.swap_if(&ws.block_state(i).claim, free, free | 1U);
    if (block.broadcast(mine)) send_part_of(block, p, frame, i);
  }
  block.sync();
}

/// wait_until that helps, once, when it has lasted.
template <block Block, class Params, class Advance, class Probe>
SWITCHYARD_DEVICE wait_status wait_and_help(Block& block, const Params& p, const phase_frame& frame, Advance advance,
                                            awaited what, Probe probe) {
  constexpr std::uint64_t help_after_ns = 100'000;
  bool helped = false;
  SWITCHYARD_ROLLED
  for (;;) {
    const auto status = block.wait_until(advance, bounds_for(frame, what), [&] {
      return probe() || (!helped && block.now_ns() - frame.start_ns > help_after_ns);
    });
    if (status != wait_status::probed || helped) return status;
    helped = true;
    send_for_others<Block>(block, p, frame);
  }
}

/// The fault of a wait for all headers that has ended badly, or found one that differs. [team]
template <block Block>
SWITCHYARD_DEVICE_APART void raise_from_headers(handed_over<Block> block, const workspace_handle& ws, phase_frame frame,
                                                wait_status status) {
  std::int32_t late = -1;
  const auto active = active_in(block, ws, frame.which);
  SWITCHYARD_ROLLED
  for (std::int32_t source = 0; source < ws.ep_size; ++source) {
    if (!active.contains(source)) continue;
    const auto word = block.broadcast(block.poll(ws.header(ws.rank, frame.which, frame.parity, source)));
    const bool fresh = layout::tag_of(word) == frame.epoch;
    if (checks_headers<Block>() && fresh && layout::data_of(word) != frame.digest) {
      return raise_from_digest<Block>(block, ws, frame, source);
    }
    if (fresh || late >= 0) continue;
    if (status != wait_status::probed || block.broadcast(is_ahead(block, ws, frame, source))) late = source;
  }
  raise_from_wait<Block>(block, ws, frame, status, awaited::header, late);
}

/// Goes on waiting for the headers of all ranks, with a reader that has not come to the end or has seen one that
/// differs. Whether all declare the same step. [team]
template <block Block, class Params, class OnToken>
SWITCHYARD_DEVICE bool await_headers(Block& block, const Params& p, const phase_frame& frame, header_reader reader,
                                     std::uint32_t tokens, OnToken on_token) {
  const workspace_handle& ws = p.ws;
  // A header that differs ends the wait for those of others; so does one of this epoch in the slots of the other phase,
  // whose sender took the steps in another order.
  const auto active = active_in(block, ws, frame.which);
  const auto probe = [&] {
    SWITCHYARD_ROLLED
    for (std::int32_t source = 0; source < ws.ep_size; ++source) {
      if (!active.contains(source)) continue;
      const auto digest = block.poll(ws.header(ws.rank, frame.which, frame.parity, source));
      const bool fresh = layout::tag_of(digest) == frame.epoch;
      const bool differs = checks_headers<Block>() && layout::data_of(digest) != frame.digest;
      if (fresh ? differs : is_ahead(block, ws, frame, source)) return true;
    }
    return false;
  };
  const auto status = wait_and_help(
      block, p, frame, [&](std::uint32_t polls) { return reader.advance(block, ws, frame, tokens, on_token, polls); },
      awaited::header, probe);
  if (block.all(status == wait_status::ready && !reader.differs)) return true;
  raise_from_headers<Block>(block, ws, frame, status);
  return false;
}

/// What is left to do in a phase after enter_lamport for what is not as usual. [team]
template <block Block>
SWITCHYARD_DEVICE bool open_late(Block& block, const workspace_handle& ws, const lamport_frame& frame) {
  if (!frame.open) {
    refuse<Block>(block, ws, frame, frame.stands, frame.phase_due);
    return false;
  }
  if (frame.which == phase::dispatch && !latch_mask(block, ws, frame, true)) return false;
  return frame.lamport_epoch == 0 || await_credits<Block>(block, ws, frame);
}

}  // namespace switchyard::protocol
