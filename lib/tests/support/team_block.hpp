// SPDX-License-Identifier: Apache-2.0
// A block whose team is several CPU threads, built like the CUDA fabric's: what is a thread of a CTA there is a thread
// of the system here. It shows, also to ThreadSanitizer, that the protocol's loops over a team, its agreements and its
// copies of a block hold for more than one thread, which the host fabric's teams of one cannot.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/host/host_block.hpp"
#include "fabric/host/host_fabric.hpp"
#include "protocol/transports.hpp"

namespace switchyard::test {

inline constexpr std::uint32_t team_threads = 4;
inline constexpr std::size_t told_bytes = 32;

struct team_state {
  std::barrier<> barrier{team_threads};
  alignas(16) std::byte told[2][told_bytes] = {};
  std::uint32_t sums[2][team_threads] = {};
  std::uint32_t* scratch = nullptr;
};

class team_block {
 public:
  team_block(team_state& team, std::uint32_t thread, std::uint32_t index)
      : team_(&team), thread_(thread), part_{thread, team_threads}, index_(index) {}

  [[nodiscard]] std::uint32_t block_index() const { return index_; }
  [[nodiscard]] std::uint32_t thread_index() const { return thread_; }
  [[nodiscard]] std::uint32_t num_threads() const { return threads_; }
  void sync() { team_->barrier.arrive_and_wait(); }
  [[nodiscard]] std::uint32_t* scratch(std::uint64_t) const { return team_->scratch; }
  static void scratch_or(std::uint32_t* word, std::uint32_t bits) { std::atomic_ref(*word).fetch_or(bits); }
  static void scratch_add(std::uint32_t* word, std::uint32_t amount) { std::atomic_ref(*word).fetch_add(amount); }
  static std::uint64_t now_ns() { return host::host_block::now_ns(); }
  static constexpr bool may_mask = true;
  static constexpr bool may_gather = true;
  static constexpr std::uint64_t patience_ns = host::host_block::patience_ns;

  template <class T>
  T broadcast(T value) {
    static_assert(sizeof(T) <= told_bytes && std::is_trivially_copyable_v<T>);
    if (thread_ == 0) std::memcpy(team_->told[turn_], &value, sizeof(T));
    std::memcpy(&value, agree(), sizeof(T));
    return value;
  }
  bool all(bool mine) { return everyone(mine, nullptr); }
  [[nodiscard]] bool leads() const { return thread_ == team_threads - 1; }
  [[nodiscard]] bool admits() const { return thread_ == team_threads - 2; }
  static std::uint32_t lane() { return 0; }
  static std::uint32_t lanes() { return 1; }
  std::uint32_t team_sum(std::uint32_t value) {
    auto* sums = team_->sums[turn_];
    sums[thread_] = value;
    (void)agree();
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < team_threads; ++i) sum += sums[i];
    return sum;
  }

  static std::uint32_t draw_ticket(std::uint32_t* word) { return host::host_block::draw_ticket(word); }
  static std::uint32_t arrive(std::uint32_t* word, std::uint32_t amount) {
    return host::host_block::arrive(word, amount);
  }
  static bool elect(std::uint32_t* word) { return host::host_block::elect(word); }
  static std::uint64_t first_entry(std::uint64_t* word, std::uint64_t now) {
    return host::host_block::first_entry(word, now);
  }
  static std::uint32_t fetch_or(std::uint32_t* word, std::uint32_t bits) {
    return host::host_block::fetch_or(word, bits);
  }
  static bool swap_if(std::uint32_t* word, std::uint32_t expected, std::uint32_t value) {
    return host::host_block::swap_if(word, expected, value);
  }
  static void depart(std::uint32_t* word, std::uint32_t value) { host::host_block::depart(word, value); }
  static std::uint32_t load_departed(std::uint32_t* word) { return host::host_block::load_departed(word); }
  static void allow_next_launch() {}

  template <class Visit>
  void visit_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing, std::uint32_t slots,
                    Visit visit) const {
    for (auto token = first + thread_; token < last; token += threads_) {
      host::host_block::visit_owners(token, token + 1, routing, slots, visit);
    }
  }
  template <class Mark>
  void mark_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing, std::uint32_t ranks,
                   Mark mark) const {
    for (auto begin = first + 32 * thread_; begin < last; begin += 32 * team_threads) {
      host::host_block::mark_owners(begin, std::min(begin + 32, last), routing, ranks, mark);
    }
  }
  /// The last thread does the other.
  template <class One, class Other>
  void side_by_side(One one, Other other) {
    const bool alone = thread_ == team_threads - 1;
    thread_ = alone ? 0 : thread_;
    threads_ = alone ? 1 : team_threads - 1;
    part_ = {thread_, threads_};
    if (alone) {
      other();
      thread_ = team_threads - 1;
    } else {
      one();
    }
    threads_ = team_threads;
    part_ = {thread_, threads_};
  }
  static std::uint32_t load_u32(std::uint32_t* word) { return host::host_block::load_u32(word); }
  static void store_u32(std::uint32_t* word, std::uint32_t value) { host::host_block::store_u32(word, value); }
  static void store_u64(std::uint64_t* word, std::uint64_t value) { host::host_block::store_u64(word, value); }
  static void announce(std::uint32_t* word, std::uint32_t value) { host::host_block::announce(word, value); }
  void fill_i32(std::int32_t* words, std::int32_t value, std::uint64_t count) const {
    for (std::uint64_t i = thread_; i < count; i += team_threads) words[i] = value;
  }
  void fill_nan(std::byte* out, std::uint64_t elements, dtype type) const {
    const auto [first, last] = share(elements, {thread_, team_threads});
    host::host_block::fill_nan(out + first * itemsize(type), last - first, type);
  }
  void copy_local(std::byte* out, const std::byte* in, std::uint64_t bytes) const {
    const auto [first, last] = share(bytes, {thread_, team_threads});
    host::host_block::copy_local(out + first, in + first, last - first);
  }
  static void record(layout::fault_mailbox* mailbox, const fault_record& what) {
    host::host_block::record(mailbox, what);
  }

  void put(std::byte* out, const std::byte* in, std::uint64_t bytes) const {
    const auto [first, last] = share(bytes, part_);
    if (first != last) host::host_block::put(out + first, in + first, last - first);
  }
  static void put_u32(std::uint32_t* out, std::uint32_t value) { host::host_block::put_u32(out, value); }
  template <class TargetAt>
  void put_rows(const protocol::payload_list& payloads, std::uint64_t token, std::uint32_t targets,
                TargetAt target_at) {
    protocol::put_one_by_one(*this, payloads, token, targets, target_at);
  }
  static void post(std::uint64_t* word, std::uint64_t value) { host::host_block::post(word, value); }
  static std::uint64_t poll(const std::uint64_t* word) { return host::host_block::poll(word); }
  static std::uint64_t poll_flag(const std::uint64_t* word) { return host::host_block::poll_flag(word); }

  template <class WordAt>
  void publish(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    sync();
    for (std::uint64_t i = thread_; i < count; i += team_threads) {
      if (std::uint64_t* word = word_at(i)) post(word, value);
    }
  }

  static void release_launches(std::uint64_t) {}
  template <class WordAt>
  void publish_released(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    for (std::uint64_t i = thread_; i < count; i += team_threads) {
      if (std::uint64_t* word = word_at(i)) post(word, value);
    }
  }
  template <class WordAt>
  void publish_when_last(std::uint32_t* arrived, std::uint32_t total, std::uint64_t count, WordAt word_at,
                         std::uint64_t value) {
    sync();
    if (broadcast(thread_ == 0 ? arrive(arrived, 1) : 0U) + 1 == total) publish(count, word_at, value);
  }

  template <class Ready, class Probe>
  protocol::wait_status wait_all(std::uint64_t count, Ready ready, const protocol::wait_bounds& bounds, Probe probe) {
    std::uint64_t next = thread_;
    const auto advance = [&](std::uint32_t) {
      while (next < count && ready(next)) next += team_threads;
      return next >= count;
    };
    return wait_until(advance, bounds, probe);
  }
  template <class Advance, class Probe>
  protocol::wait_status wait_until(Advance advance, const protocol::wait_bounds& bounds, Probe probe) {
    for (bool first_round = true;; first_round = false) {
      const bool mine = advance(1);
      auto seen = protocol::wait_status::ready;
      if (thread_ == team_threads - 1 && !first_round) {
        if (bounds.notice != nullptr && protocol::is_told<may_mask>(bounds, poll(bounds.notice))) {
          seen = protocol::wait_status::notice;
        } else if (now_ns() >= bounds.deadline_ns) {
          seen = protocol::wait_status::expired;
        } else if (probe()) {
          seen = protocol::wait_status::probed;
        }
      }
      if (thread_ == team_threads - 1) std::memcpy(team_->told[turn_], &seen, sizeof(seen));
      const bool all = everyone(mine, &seen);
      if (all) return protocol::wait_status::ready;
      if (seen != protocol::wait_status::ready) {
        return everyone(advance(1), nullptr) ? protocol::wait_status::ready : seen;
      }
      std::this_thread::yield();
    }
  }

  template <class Body>
  void for_each_row(std::uint64_t count, Body body) {
    const auto threads =
        count >= threads_ ? 1U : threads_ / static_cast<std::uint32_t>(std::max<std::uint64_t>(count, 1));
    const auto parts = threads_ / threads;
    part_ = {thread_ % threads, threads};
    for (std::uint64_t row = thread_ / threads; row < count && thread_ < parts * threads; row += parts) body(row);
    part_ = {thread_, threads_};
  }

  template <class RowAt>
  void sum_rows(std::byte* out, std::uint32_t num_rows, RowAt row_at, std::uint64_t elements, dtype type) const {
    const auto [first, last] = share(elements, part_);
    if (first == last) return;
    const auto shifted = [&, skipped = first * itemsize(type)](std::uint32_t i) { return row_at(i) + skipped; };
    host::host_block::sum_rows(out + first * itemsize(type), num_rows, shifted, last - first, type);
  }

  static std::uint64_t load_word(const std::uint64_t* word) { return host::host_block::load_word(word); }
  static void store_word(std::uint64_t* word, std::uint64_t value) { host::host_block::store_word(word, value); }
  static protocol::word_pair load_words(const std::uint64_t* words) { return host::host_block::load_words(words); }
  static void store_words(std::uint64_t* words, protocol::word_pair pair) {
    host::host_block::store_words(words, pair);
  }
  static protocol::word_pair load_unit(const protocol::located_unit& unit, std::uint64_t row) {
    return host::host_block::load_unit(unit, row);
  }
  static void store_unit(const protocol::located_unit& unit, std::byte* at, protocol::word_pair value) {
    host::host_block::store_unit(unit, at, value);
  }
  using held_ids = host::host_block::held_ids;
  static held_ids ids_of(const protocol::token_ids& routing, std::uint32_t token) {
    return host::host_block::ids_of(routing, token);
  }
  template <class Placed, class Other>
  static std::uint32_t visit_ranks(const protocol::token_ids& routing, held_ids ids, std::uint32_t ranks, Placed placed,
                                   Other other) {
    return host::host_block::visit_ranks(routing, ids, ranks, placed, other);
  }
  using unit_sum = host::host_block::unit_sum;
  static void add_unit(unit_sum& sum, protocol::word_pair words, bool first, bool alone, dtype type) {
    host::host_block::add_unit(sum, words, first, alone, type);
  }
  static protocol::word_pair rounded_unit(const unit_sum& sum, bool alone, dtype type) {
    return host::host_block::rounded_unit(sum, alone, type);
  }

  void put_quantised(std::byte* out, const std::byte* in, const protocol::quantised_shape& shape) const {
    host::quantise_blocks(out, in, shape, blocks_of_part(shape));
  }
  template <class RowAt, class IsOwn>
  void sum_quantised(std::byte* out, std::uint32_t num_rows, RowAt row_at, IsOwn is_own,
                     const protocol::quantised_shape& shape) const {
    host::host_block::sum_quantised_blocks(out, num_rows, row_at, is_own, shape, blocks_of_part(shape));
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

 private:
  struct team_part {
    std::uint32_t index;
    std::uint32_t count;
  };
  static std::pair<std::uint64_t, std::uint64_t> share(std::uint64_t amount, team_part part) {
    return {amount * part.index / part.count, amount * (part.index + 1) / part.count};
  }
  [[nodiscard]] host::block_range blocks_of_part(const protocol::quantised_shape& shape) const {
    const auto [first, last] = share(host::blocks_of(shape), part_);
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
  }
  const std::byte* agree() {
    sync();
    const auto* told = team_->told[turn_];
    turn_ ^= 1U;
    return told;
  }
  /// Whether all threads say so; with what the last one told, in the same agreement.
  bool everyone(bool mine, protocol::wait_status* told) {
    auto* sums = team_->sums[turn_];
    sums[thread_] = mine ? 1 : 0;
    const auto* said = agree();
    if (told != nullptr) std::memcpy(told, said, sizeof(*told));
    return std::all_of(sums, sums + team_threads, [](std::uint32_t each) { return each != 0; });
  }

  team_state* team_;
  std::uint32_t thread_;
  std::uint32_t threads_ = team_threads;
  team_part part_;
  std::uint32_t turn_ = 0;
  std::uint32_t index_;
  [[no_unique_address]] host::host_block inner_;
};
static_assert(protocol::quantising_block<team_block>);
static_assert(std::is_trivially_copyable_v<team_block>, "handed over as a copy, as a CUDA block is");

/// Runs `phase(block)` on a team that uses the scratch of `launched`.
template <class Phase>
void run_team(host::host_block& launched, Phase phase) {
  team_state team;
  team.scratch = launched.scratch(0);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < team_threads; ++i) {
    threads.emplace_back([&, i] {
      team_block block(team, i, launched.block_index());
      phase(block);
    });
  }
  for (auto& thread : threads) thread.join();
}

/// The host fabric with teams of several threads.
inline std::shared_ptr<fabric> make_team_fabric() {
  return host::make_host_fabric({[](host::host_block& launched, const protocol::dispatch_params& params) {
                                   run_team(launched, [&](team_block& b) { protocol::run_dispatch(b, params); });
                                 },
                                 [](host::host_block& launched, const protocol::combine_params& params) {
                                   run_team(launched, [&](team_block& b) { protocol::run_combine(b, params); });
                                 }});
}

}  // namespace switchyard::test
