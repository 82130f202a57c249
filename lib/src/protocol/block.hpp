// SPDX-License-Identifier: Apache-2.0
// What the protocol asks of a machine: a block, a team of threads that runs one role at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "layout/device_code.hpp"
#include "layout/round_state.hpp"
#include "protocol/lamport_rows.hpp"
#include "protocol/payload_rows.hpp"
#include "protocol/routing.hpp"
#include "protocol/wait_bounds.hpp"
#include "switchyard/spec/dtypes.hpp"

namespace switchyard::protocol {

/// The operations of a block. All threads of the team call each one with the same arguments, unless marked [thread];
/// results marked [team] are equal on all threads. Words that another rank, another block or the host may change at any
/// time are read by thread 0 and broadcast wherever the team's course depends on them, so that threads never part ways.
/// In wait_all, `ready(i)` is called by one thread for each i until it holds, and then no more, in ascending order per
/// thread; what it leaves in the scratch is there for the whole team when wait_all returns. `probe()` is called now and
/// then by one thread. Inside for_each_row, `put`, `put_u32`, `put_rows` and `sum_rows` belong to the part of the
/// team that has the row. Memory orders, in the words of C++:
///
/// | operation          | order                                                                                    |
/// | ------------------ | ---------------------------------------------------------------------------------------- |
/// | put, put_u32       | stores to a peer, visible to it once it has seen a later publish of this block; put_u32    |
/// |                    | relaxed, because load_u32 may look at a word that is not due                               |
/// | publish            | release at system scope over everything the team did before; stores the words              |
/// | poll_flag [thread] | one 64-bit load, acquire at system scope: pairs with publish. What it acquired inside      |
/// |                    | wait_all holds for the whole team once that has returned ready                             |
/// | wait_all           | returns ready only when every condition held                                               |
/// | post [thread]      | one 64-bit store that is valid by its own tag. It hands over the team's earlier *reads*    |
/// |                    | (what the stream read before may be overwritten by whoever sees it), never earlier writes  |
/// | poll [thread]      | one 64-bit load that pairs with post; no order over rows                                   |
/// | store, load        | relaxed, among the blocks of this rank: a stored word is valid by itself (its tag), or is  |
/// |                    | read by later launches only, which the end of this one releases everything to              |
/// | Lamport words      | load_word(s), store_word(s) [thread]: 64-bit accesses, relaxed. A store at a peer is       |
/// |                    | payload that says itself that it has come; at this rank it re-arms, which a later launch's |
/// |                    | publish hands over (docs/decisions/009)                                                    |
/// | fetch_or, swap_if  | relaxed                                                                                    |
/// | depart [thread]    | after a barrier: releases what the team did before, among the blocks of this rank; pairs   |
/// |                    | with load_departed [thread], which acquires                                                |
/// | announce [thread]  | releases everything this thread did before, at system scope                                |
/// | draw_ticket        | relaxed                                                                                    |
/// | arrive [thread]    | acquire and release among the blocks of this rank: the last to arrive sees what others did |
/// | release_launches   | begins a release at system scope over what launches before this one have stored            |
/// | publish_released   | publish, after it: over that alone                                                         |
/// | publish_when_last  | each call acquires and releases as arrive does; the last one publishes, over everything    |
/// |                    | that the teams of all calls did before                                                     |
template <class B>
concept block = requires(B b, std::byte* bytes, const std::byte* source, std::uint64_t* word, std::uint32_t* word32,
                         std::int32_t* ints, std::uint64_t u64, std::uint32_t u32,
                         const std::byte* (*row_at)(std::uint32_t), layout::fault_mailbox* mailbox,
                         const fault_record& record, wait_bounds bounds, std::uint64_t* (*word_at)(std::uint64_t),
                         bool (*ready)(std::uint64_t), bool (*probe)(), const payload_list& payloads,
                         row_target (*target_at)(std::uint32_t), const token_ids& routing,
                         void (*visit)(std::uint32_t, std::uint32_t, std::int32_t),
                         void (*mark)(std::uint32_t, std::uint32_t, std::uint32_t), void (*both)(),
                         void (*body)(std::uint64_t), bool (*advance)(std::uint32_t), typename B::held_ids ids,
                         typename B::unit_sum& sum, word_pair words, void (*placed)(std::uint32_t, std::int32_t),
                         void (*other)(std::int32_t)) {
  // Whether it serves workspaces with rank masks, and with load statistics; one that does not has none of their code.
  { B::may_mask } -> std::convertible_to<bool>;
  { B::may_gather } -> std::convertible_to<bool>;
  { b.thread_index() } -> std::convertible_to<std::uint32_t>;
  { b.num_threads() } -> std::convertible_to<std::uint32_t>;
  { b.block_index() } -> std::convertible_to<std::uint32_t>;  // of the launch's num_blocks
  b.sync();
  // Scratch of the team, kept from role to role; undefined at first. At most scratch_words() of the phase.
  { b.scratch(u64) } -> std::same_as<std::uint32_t*>;
  b.scratch_or(word32, u32);                            // [thread] atomic within the team
  b.scratch_add(word32, u32);                           // [thread] atomic within the team
  { b.broadcast(u64) } -> std::same_as<std::uint64_t>;  // [team] thread 0's value, of a trivial type of <= 32 bytes
  { b.team_sum(u32) } -> std::same_as<std::uint32_t>;   // [team] sum of the threads' values
  { b.all(true) } -> std::same_as<bool>;                // [team] whether all threads say so
  // The leader: a warp of the team whose threads think for it, and have the least to do besides. [thread]
  { b.leads() } -> std::same_as<bool>;
  { b.admits() } -> std::same_as<bool>;  // another such warp, where there is one; lane() and lanes() are its too
  { b.lane() } -> std::convertible_to<std::uint32_t>;   // within the leader
  { b.lanes() } -> std::convertible_to<std::uint32_t>;  // of the leader
  { b.now_ns() } -> std::same_as<std::uint64_t>;
  // How long to wait for words that are being sent: far more than they take, and less than a verdict may.
  { B::patience_ns } -> std::convertible_to<std::uint64_t>;

  // Words of this rank's own round state and tables.
  { b.draw_ticket(word32) } -> std::same_as<std::uint32_t>;     // [thread] fetch and increment
  { b.arrive(word32, u32) } -> std::same_as<std::uint32_t>;     // [thread] fetch and add
  { b.elect(word32) } -> std::same_as<bool>;                    // [thread] 0 -> 1, true for one caller
  { b.first_entry(word, u64) } -> std::same_as<std::uint64_t>;  // [thread] 0 -> u64; what stands
  { b.fetch_or(word32, u32) } -> std::same_as<std::uint32_t>;   // [thread] what stood
  { b.swap_if(word32, u32, u32) } -> std::same_as<bool>;        // [thread] from the first value to the second
  b.depart(word32, u32);                                        // [thread]
  { b.load_departed(word32) } -> std::same_as<std::uint32_t>;   // [thread]
  { b.load_u32(word32) } -> std::same_as<std::uint32_t>;        // [thread]
  b.store_u32(word32, u32);                                     // [thread]
  b.store_u64(word, u64);                                       // [thread]
  b.announce(word32, u32);                                      // [thread]
  b.fill_i32(ints, std::int32_t{}, u64);                        // ordinary stores, this rank's memory
  b.fill_nan(bytes, u64, dtype{});                              // canonical NaN into u64 elements
  b.copy_local(bytes, source, u64);                             // ordinary copy, this rank's memory
  b.record(mailbox, record);                                    // [thread] host-visible, then its sequence
  b.allow_next_launch();  // what the stream runs next may be made ready; it touches nothing before this launch has
                          // ended

  // Calls visit(token, slot, rank) for each of u32 slots of each token in [u32, u32), slots in the order of the ids,
  // with rank -1 where there is no further distinct owner; by whichever threads of the part, and in any order of
  // tokens.
  b.visit_owners(u32, u32, routing, u32, visit);
  // Calls mark(rank, w, bits) for each of u32 ranks and each word w of 32 tokens in [u32, u32), the first of them a
  // multiple of 32, with a bit for each token that there is and that it owns an expert of; by whichever threads. Not
  // side by side.
  b.mark_owners(u32, u32, routing, u32, mark);
  // Runs both, each by a part of the team or one after the other; inside, thread_index() and num_threads() are those of
  // the part, and nothing synchronises.
  b.side_by_side(both, both);

  // What crosses to peers.
  b.put(bytes, source, u64);                        // to a multiple of u64 in a region
  b.put_u32(word32, u32);                           // [thread]
  b.put_rows(payloads, u64, u32, target_at);        // all payloads of token u64, to `u32` targets, in any order
  b.post(word, u64);                                // [thread]
  { b.poll(word) } -> std::same_as<std::uint64_t>;  // [thread]
  { b.poll_flag(word) } -> std::same_as<std::uint64_t>;
  b.publish(u64, word_at, u64);
  b.release_launches(u64);                              // before publish_released of so many words
  b.publish_released(u64, word_at, u64);                // no barrier
  b.publish_when_last(word32, u32, u64, word_at, u64);  // of u32 calls that count themselves in the word
  { b.wait_all(u64, ready, bounds, probe) } -> std::same_as<wait_status>;
  // Calls body(i) for i in [0, u64), each index by one team or part of it; put inside belongs to that part.
  b.for_each_row(u64, body);
  // out = sum of the `u32` rows row_at(0), row_at(1) ... of this rank's memory in order, as DESIGN's combine contract.
  b.sum_rows(bytes, u32, row_at, u64, dtype{});

  // Goes on with waits of the threads' own: each calls advance(u32) until it says that it is done; it may poll so many
  // times in vain before it returns. The rest as in wait_all.
  { b.wait_until(advance, bounds, probe) } -> std::same_as<wait_status>;

  // Lamport memory (lamport_words.hpp), and rows as units.
  { b.load_word(word) } -> std::same_as<std::uint64_t>;  // [thread]
  b.store_word(word, u64);                               // [thread]
  { b.load_words(word) } -> std::same_as<word_pair>;     // [thread] 16-byte aligned
  b.store_words(word, words);                            // [thread]
  // A unit of row u64 of its payload's data, filled up with zeros; and of the regions of a row of this rank's. [thread]
  { b.load_unit(located_unit{}, u64) } -> std::same_as<word_pair>;
  b.store_unit(located_unit{}, bytes, words);
  // What a lane of the leader holds of a token's ids, none for one past the last.
  { b.ids_of(routing, u32) } -> std::same_as<typename B::held_ids>;
  // Calls placed(slot, rank) for the distinct owners of all of them in the order of the ids, each by one lane,
  // whichever. Then other(rank) for each rank below u32 that owns none of them. By all lanes of the leader together;
  // returns to each how many owners there are.
  { b.visit_ranks(routing, ids, u32, placed, other) } -> std::same_as<std::uint32_t>;
  // A unit's sum as DESIGN's combine contract: `true`: the first source; `true`: the only one, whose bits come back.
  b.add_unit(sum, words, true, true, dtype{});  // [thread]
  { b.rounded_unit(sum, true, dtype{}) } -> std::same_as<word_pair>;
};

/// Whether a block compares what headers declare with what its rank declares. All do, but for those that say otherwise,
/// of a bench that asks what it costs: such a block waits for headers all the same, and sends them.
template <class Block>
constexpr bool checks_headers() {
  if constexpr (requires { std::remove_reference_t<Block>::checks_headers; }) {
    return std::remove_reference_t<Block>::checks_headers;
  }
  return true;
}

/// How a block goes to a function that is kept out of line: as a copy where that is trivial, because what a caller
/// gives away by reference has to live in memory, and be read again after everything that may have changed it. A copy
/// may have synchronised the team more often than the original knows of, so sync() stands at its end or right after it.
template <class Block>
using handed_over = std::conditional_t<std::is_trivially_copyable_v<Block>, Block, Block&>;

}  // namespace switchyard::protocol
