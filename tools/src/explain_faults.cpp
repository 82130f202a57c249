// SPDX-License-Identifier: Apache-2.0
// Fault codes, phases, and what a wait was for.
#include "explanations.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard::tools {

std::vector<explanation> fault_explanations() {
  constexpr std::string_view code = "fault code";
  constexpr std::string_view phase_kind = "phase";
  constexpr std::string_view awaited_kind = "what a wait was for";
  return {
      {code, to_string(fault_code::none), "No fault: the phase has ended as it should, or a record was never filled.",
       "", "In a scenario, expected_fault none says that no rank may record a fault."},
      {code, to_string(fault_code::timeout),
       "The header or the rows of at least one active peer did not come before the deadline of the phase. The deadline "
       "runs in real time from the entry of the rank's first block; the first step after construction has the warm-up "
       "deadline.",
       "A peer that died, hangs in its own work, or never made the call; a peer that is merely slower than the "
       "timeout; "
       "more ranks than cores while the timeout is short; a link that lost a store.",
       "The missing ranks of the record, which are all that this rank lacked, against those of the other ranks: a rank "
       "that everybody misses is the one that is gone, two halves that miss each other are a cut between them. awaited "
       "says whether the header came and only rows are missing; arrival_ns has when each peer's header came, and null "
       "for one that has not. waited_ns near timeout_ns on all ranks is a real absence; far above it the machine "
       "itself "
       "stood still."},
      {code, to_string(fault_code::step_mismatch),
       "A peer has declared another step than this rank: a header that is valid and whose digest differs. No row of "
       "that step was read as data.",
       "Ranks that disagree on T, on which payloads travel, on a row width, on the length of load statistics, or on "
       "combine's hidden size or dtype; ranks that run different configurations or builds; a rank restarted alone.",
       "field names the first value that differs, expected is this rank's and actual the other's: explain FIELD says "
       "where it comes from. Compare what both callers passed to that step; the rank that all others name is the odd "
       "one. With from_notice there are no values: the notice met this rank in the phase before. To see such records, "
       "run faults/disagree: it makes one rank declare another value of each field."},
      {code, to_string(fault_code::order_mismatch),
       "A peer is in the other phase of the same step: its combine header is there while its dispatch header is due, "
       "or "
       "the reverse.",
       "One rank skipped a call, made it twice, or replayed the graph of the wrong phase.",
       "The sequence of calls of the rank named, against that of a rank that is not named; captured graphs before "
       "anything else. faults/order_of_phases shows what it looks like."},
      {code, to_string(fault_code::out_of_order),
       "This rank ran a phase that is not due on its own workspace: two dispatches without a combine, or a combine "
       "without a dispatch. Nothing was sent.",
       "A graph replayed out of turn; two instances that share a workspace and interleave their steps.",
       "This rank's own order of launches and replays. Peers see the notice at once and name this rank. "
       "faults/skipped_phase leaves a phase out, eagerly and from graphs."},
      {code, to_string(fault_code::bad_header),
       "A header contradicts itself: the rows that it announces are not the bits that its routing bitmap has, or its "
       "digest is not that of its fields.",
       "Memory of the workspace overwritten by something else; a fault of the link or of the memory; an error in the "
       "protocol's code.",
       "overrun findings of the same case, which say that somebody writes where he must not. If it stays with one pair "
       "of ranks whatever the case, look at the hardware between them; if it follows the code, run the mutants."},
      {code, to_string(fault_code::aborted), "A rank has called abort(), and its notice ended the phase here.",
       "A local error at that rank that was thrown before its call could enqueue anything; the harness freeing ranks "
       "after its watchdog saw no progress, or after the run was stopped; on the host fabric, others that have "
       "recovered without this rank.",
       "The rank in origin: its own error came first and says more. reason of the case has it when it was an "
       "exception."},
      {code, to_string(fault_code::mask_changed),
       "A peer has declared another rank mask than this rank for the same step. No row of that step was read as data.",
       "Ranks that learned at different steps that one of them is gone; a rank whose set_active_ranks went onto "
       "another "
       "stream, or behind the dispatch that it was meant for.",
       "The message names the ranks that are in one of the two masks alone. expected is this rank's mask and actual "
       "the other's, a bit for each rank, of groups of more than 32 a hash of it; where the message names no ranks, "
       "the "
       "other has left for another reason before it told its mask. All ranks that stay must set the same mask before "
       "the same step. A rank that others have masked off gets "
       "nothing from them, and shows as timeout there. faults/disagree_on_the_mask shows what it looks like."},
      {code, to_string(fault_code::bad_mask),
       "The mask that a dispatch found in its own workspace cannot be: it lacks this rank, or it has a rank that the "
       "step before did not have, past the end of the group or masked off earlier. Nothing was sent.",
       "A rank that was masked off and is put back by set_active_ranks: it comes back through recover only; memory of "
       "the workspace overwritten by something else.",
       "The message names the ranks that must not be in the mask, or are lacking. actual is what was found, expected "
       "the nearest mask that may be, a bit for each of the 64 ranks among which the first error is. Peers have it by "
       "notice, "
       "and name this rank. faults/bad_mask shows what it looks like."},

      {phase_kind, to_string(phase::dispatch),
       "The half of a step in which every rank sends each of its tokens once to each rank that owns one of the token's "
       "experts, and waits for a header and the rows of every peer.",
       "",
       "A fault here leaves only invalid ids and counts of 0 in the views, so that experts do nothing. lib/docs/"
       "protocol.md lists who waits for whom."},
      {phase_kind, to_string(phase::combine),
       "The half of a step in which every rank gets back the sums of what the experts made of its tokens, added up in "
       "the order of the token's top-k slots.",
       "", "A fault here leaves NaN in all of the output. lib/docs/protocol.md lists who waits for whom."},

      {awaited_kind, to_string(awaited::nothing),
       "The fault was not seen in a wait: it came by notice between waits, or is this rank's own.", "",
       "from_notice and origin: who saw it first."},
      {awaited_kind, to_string(awaited::header),
       "A peer's header, the small message that every rank sends to every peer in every phase before its rows.",
       "A peer that has not entered the phase at all.",
       "What the missing ranks did last; their records, if they have any."},
      {awaited_kind, to_string(awaited::rows),
       "Rows that a peer has announced. Its header was there, so it has entered the phase.",
       "A peer that stopped in the middle, a slow or broken path for bulk data, or a lost signal.",
       "Whether small cases pass on the same pair of ranks; then the path, not the rank, is the suspect."},
      {awaited_kind, to_string(awaited::statistics),
       "A peer's load statistics, which it sends before its header by fence, and behind it by lamport. The header is "
       "here: where it is lacking too, the record says header.",
       "A lost store; by lamport also a peer that stopped between the two.",
       "What the missing ranks did last; whether the same pair of ranks loses rows as well."},
  };
}

}  // namespace switchyard::tools
