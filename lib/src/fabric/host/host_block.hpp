// SPDX-License-Identifier: Apache-2.0
// The block of the host fabric: a team of one CPU thread. Orders are those of std::atomic_ref on shared memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/host/quantised_rows.hpp"
#include "protocol/block.hpp"
#include "protocol/lamport_rows.hpp"

namespace switchyard::host {

/// Waiting gets gentler the longer it lasts: 72 ranks may share two cores.
class backoff {
 public:
  /// Called after each fruitless round of polls.
  void pause();
  /// Whether it is time to look at the clock and the notice word again.
  [[nodiscard]] bool due() const { return rounds_ % 16 == 0; }

 private:
  std::uint32_t rounds_ = 0;
};

class host_block {
 public:
  /// `scratch`: words for the roles of one launch; null when its roles ask for none. `index`: of the block in it.
  explicit host_block(std::uint32_t* scratch = nullptr, std::uint32_t index = 0) : scratch_(scratch), index_(index) {}

  [[nodiscard]] std::uint32_t block_index() const { return index_; }
  static std::uint32_t thread_index() { return 0; }
  static std::uint32_t num_threads() { return 1; }
  static void sync() {}
  [[nodiscard]] std::uint32_t* scratch(std::uint64_t) const { return scratch_; }
  template <class T>
  static T broadcast(T value) {
    return value;
  }
  static std::uint32_t team_sum(std::uint32_t value) { return value; }
  static bool all(bool mine) { return mine; }
  static bool leads() { return true; }
  static bool admits() { return true; }
  static std::uint32_t lane() { return 0; }
  static std::uint32_t lanes() { return 1; }
  static void scratch_or(std::uint32_t* word, std::uint32_t bits) { *word |= bits; }
  static void scratch_add(std::uint32_t* word, std::uint32_t amount) { *word += amount; }
  static std::uint64_t now_ns();
  static constexpr bool may_mask = true;
  static constexpr bool may_gather = true;
  static constexpr std::uint64_t patience_ns = 50'000'000;  // a peer's thread may have lost its core

  static std::uint32_t draw_ticket(std::uint32_t* word);
  static std::uint32_t arrive(std::uint32_t* word, std::uint32_t amount);
  static bool elect(std::uint32_t* word);
  static std::uint64_t first_entry(std::uint64_t* word, std::uint64_t now);
  // Release and acquire, although the protocol asks for less: relaxed would gain nothing on a CPU.
  static std::uint32_t fetch_or(std::uint32_t* word, std::uint32_t bits);
  static bool swap_if(std::uint32_t* word, std::uint32_t expected, std::uint32_t value);
  static void depart(std::uint32_t* word, std::uint32_t value) { store_u32(word, value); }
  static std::uint32_t load_departed(std::uint32_t* word) { return load_u32(word); }
  static std::uint32_t load_u32(std::uint32_t* word);
  static void store_u32(std::uint32_t* word, std::uint32_t value);
  static void store_u64(std::uint64_t* word, std::uint64_t value);
  static void announce(std::uint32_t* word, std::uint32_t value) { store_u32(word, value); }
  static void fill_i32(std::int32_t* words, std::int32_t value, std::uint64_t count);
  static void fill_nan(std::byte* out, std::uint64_t elements, dtype type);
  static void copy_local(std::byte* out, const std::byte* in, std::uint64_t bytes);
  static void record(layout::fault_mailbox* mailbox, const fault_record& record);

  static void allow_next_launch() {}

  template <class Visit>
  static void visit_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                           std::uint32_t slots, Visit visit) {
    for (auto token = first; token < last; ++token) {
      std::uint32_t used = 0;
      routing.for_each_owner(routing.ids + std::uint64_t{token} * routing.top_k,
                             [&](std::uint32_t slot, std::int32_t rank) {
                               visit(token, slot, rank);
                               ++used;
                             });
      for (; used < slots; ++used) visit(token, used, -1);
    }
  }
  template <class Mark>
  static void mark_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing,
                          std::uint32_t ranks, Mark mark) {
    for (auto begin = first; begin < last; begin += 32) {
      std::array<std::uint32_t, max_ep_size> bits{};
      visit_owners(begin, std::min({begin + 32, last, std::max(begin, routing.tokens)}), routing, 0,
                   [&](std::uint32_t token, std::uint32_t, std::int32_t rank) {
                     bits[static_cast<std::size_t>(rank)] |= 1U << (token - begin);
                   });
      for (std::uint32_t rank = 0; rank < ranks; ++rank) mark(rank, begin / 32, bits[rank]);
    }
  }
  /// The short one first: peers wait for headers before they look for rows.
  template <class One, class Other>
  static void side_by_side(One one, Other other) {
    other();
    one();
  }

  static void put(std::byte* out, const std::byte* in, std::uint64_t bytes);
  static void put_u32(std::uint32_t* out, std::uint32_t value) { store_u32(out, value); }
  template <class TargetAt>
  void put_rows(const protocol::payload_list& payloads, std::uint64_t token, std::uint32_t targets,
                TargetAt target_at) {
    protocol::put_one_by_one(*this, payloads, token, targets, target_at);
  }
  /// Release, although the protocol asks for less: it is what hands this thread's earlier reads over to the reader.
  static void post(std::uint64_t* word, std::uint64_t value);
  /// Acquire: pairs with post and publish.
  static std::uint64_t poll(const std::uint64_t* word);
  static std::uint64_t poll_flag(const std::uint64_t* word) { return poll(word); }

  /// Release stores: each pairs with the acquire in poll of whoever waits for that word.
  template <class WordAt>
  void publish(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (std::uint64_t* word = word_at(i)) post(word, value);
    }
  }

  static void release_launches(std::uint64_t) {}
  template <class WordAt>
  void publish_released(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    publish(count, word_at, value);  // which releases more
  }
  template <class WordAt>
  void publish_when_last(std::uint32_t* arrived, std::uint32_t total, std::uint64_t count, WordAt word_at,
                         std::uint64_t value) {
    if (arrive(arrived, 1) + 1 == total) publish(count, word_at, value);
  }

  template <class Ready, class Probe>
  protocol::wait_status wait_all(std::uint64_t count, Ready ready, const protocol::wait_bounds& bounds, Probe probe) {
    std::uint64_t done = 0;
    const auto advance = [&](std::uint32_t) {
      while (done < count && ready(done)) ++done;
      return done == count;
    };
    return wait_until(advance, bounds, probe);
  }
  template <class Advance, class Probe>
  static protocol::wait_status wait_until(Advance advance, const protocol::wait_bounds& bounds, Probe probe) {
    for (backoff idle;; idle.pause()) {
      if (advance(1)) return protocol::wait_status::ready;
      if (!idle.due()) continue;
      if (bounds.notice != nullptr && protocol::is_told<may_mask>(bounds, poll(bounds.notice))) {
        return advance(1) ? protocol::wait_status::ready : protocol::wait_status::notice;
      }
      if (now_ns() >= bounds.deadline_ns) {
        // This thread may have lost its core just before: what came meanwhile counts.
        return advance(1) ? protocol::wait_status::ready : protocol::wait_status::expired;
      }
      if (probe()) return advance(1) ? protocol::wait_status::ready : protocol::wait_status::probed;
    }
  }

  template <class Body>
  void for_each_row(std::uint64_t count, Body body) {
    for (std::uint64_t i = 0; i < count; ++i) body(i);
  }

  template <class RowAt>
  static void sum_rows(std::byte* out, std::uint32_t num_rows, RowAt row_at, std::uint64_t elements, dtype type) {
    const std::byte* rows[max_top_k];
    for (std::uint32_t i = 0; i < num_rows; ++i) rows[i] = row_at(i);
    reduce_rows(out, rows, num_rows, elements, type);
  }
  // Lamport words: relaxed, each is its own flag.
  static std::uint64_t load_word(const std::uint64_t* word);
  static void store_word(std::uint64_t* word, std::uint64_t value);
  static protocol::word_pair load_words(const std::uint64_t* words) { return {load_word(words), load_word(words + 1)}; }
  static void store_words(std::uint64_t* words, protocol::word_pair pair) {
    store_word(words, pair.first);
    store_word(words + 1, pair.second);
  }
  static protocol::word_pair load_unit(const protocol::located_unit& unit, std::uint64_t row);
  static void store_unit(const protocol::located_unit& unit, std::byte* at, protocol::word_pair value);

  /// The ids of a token, null for none.
  using held_ids = const std::int32_t*;
  static held_ids ids_of(const protocol::token_ids& routing, std::uint32_t token) {
    return token < routing.tokens ? routing.ids + std::uint64_t{token} * routing.top_k : nullptr;
  }
  template <class Placed, class Other>
  static std::uint32_t visit_ranks(const protocol::token_ids& routing, held_ids ids, std::uint32_t ranks, Placed placed,
                                   Other other) {
    std::array<bool, max_ep_size> owns{};
    std::uint32_t count = 0;
    if (ids != nullptr) {
      routing.for_each_owner(ids, [&](std::uint32_t slot, std::int32_t rank) {
        owns[static_cast<std::size_t>(rank)] = true;
        placed(slot, rank);
        ++count;
      });
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      if (!owns[rank]) other(static_cast<std::int32_t>(rank));
    }
    return count;
  }

  struct unit_sum {
    protocol::word_pair bits;  ///< of the only source
    std::array<float, layout::unit_bytes / 2> elements{};
  };
  static void add_unit(unit_sum& sum, protocol::word_pair words, bool first, bool alone, dtype type);
  static protocol::word_pair rounded_unit(const unit_sum& sum, bool alone, dtype type);

  static void put_quantised(std::byte* out, const std::byte* in, const protocol::quantised_shape& shape) {
    quantise_blocks(out, in, shape, {0, blocks_of(shape)});
  }
  template <class RowAt, class IsOwn>
  static void sum_quantised(std::byte* out, std::uint32_t num_rows, RowAt row_at, IsOwn is_own,
                            const protocol::quantised_shape& shape) {
    sum_quantised_blocks(out, num_rows, row_at, is_own, shape, {0, blocks_of(shape)});
  }
  template <class RowAt, class IsOwn>
  static void sum_quantised_blocks(std::byte* out, std::uint32_t num_rows, RowAt row_at, IsOwn is_own,
                                   const protocol::quantised_shape& shape, block_range blocks) {
    summed_row rows[max_top_k];
    for (std::uint32_t i = 0; i < num_rows; ++i) rows[i] = {row_at(i), is_own(i)};
    sum_blocks(out, rows, num_rows, shape, blocks);
  }
  using quantised_sum = host::quantised_sum;
  static protocol::quantised_unit quantise_unit(const std::byte* row, std::uint32_t unit,
                                                const protocol::quantised_shape& shape) {
    return host::quantise_unit(row, unit, shape);
  }
  static void add_quantised(quantised_sum& sum, const protocol::quantised_unit& unit, bool first) {
    host::add_quantised(sum, unit, first);
  }
  static void store_quantised_sum(std::byte* out, std::uint32_t unit, const quantised_sum& sum,
                                  const protocol::quantised_shape& shape) {
    host::store_quantised_sum(out, unit, sum, shape);
  }

  static void reduce_rows(std::byte* out, const std::byte* const* rows, std::uint32_t num_rows, std::uint64_t elements,
                          dtype type);

 private:
  std::uint32_t* scratch_;
  std::uint32_t index_;
};

static_assert(protocol::quantising_block<host_block>);

}  // namespace switchyard::host
