// SPDX-License-Identifier: Apache-2.0
// A block that changes one named operation of the block it wraps, so that faults are injected without a hook in the
// protocol.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "injection/injecting_quantiser.hpp"
#include "injection/mutation.hpp"
#include "protocol/block.hpp"
#include "protocol/params.hpp"

namespace switchyard::injection {

template <class Block>
class injecting_block : public injecting_quantiser<Block> {
  using base = injecting_quantiser<Block>;
  using base::hits, base::is, base::dropped, base::pause, base::retagged, base::redirected;
  using base::inner_, base::plan_, base::ws_;

 public:
  injecting_block(Block& inner, injector& plan, const protocol::workspace_handle& ws)
      : base(inner, plan, ws), epoch_(epoch_of(inner, ws)) {}
  ~injecting_block() {
    flush_deferred();
    const auto held = plan_.take_held(ws_.rank, epoch_);
    if (held.empty()) return;
    pause();
    for (const auto& each : held) inner_.store_word(each.word, each.value);
  }
  injecting_block(const injecting_block&) = delete;
  injecting_block& operator=(const injecting_block&) = delete;

  std::uint32_t block_index() { return inner_.block_index(); }
  std::uint32_t thread_index() { return inner_.thread_index(); }
  std::uint32_t num_threads() { return inner_.num_threads(); }
  void sync() { inner_.sync(); }
  std::uint32_t* scratch(std::uint64_t words) { return inner_.scratch(words); }
  void scratch_or(std::uint32_t* word, std::uint32_t bits) { inner_.scratch_or(word, bits); }
  void scratch_add(std::uint32_t* word, std::uint32_t amount) { inner_.scratch_add(word, amount); }
  std::uint64_t now_ns() { return inner_.now_ns(); }
  static constexpr bool may_mask = Block::may_mask;
  static constexpr bool may_gather = Block::may_gather;
  static constexpr std::uint64_t patience_ns = Block::patience_ns;
  template <class T>
  T broadcast(T value) {
    return inner_.broadcast(value);
  }
  std::uint32_t team_sum(std::uint32_t value) { return inner_.team_sum(value); }
  bool all(bool mine) { return inner_.all(mine); }
  bool leads() { return inner_.leads(); }
  bool admits() { return inner_.admits(); }
  std::uint32_t lane() { return inner_.lane(); }
  std::uint32_t lanes() { return inner_.lanes(); }
  std::uint32_t arrive(std::uint32_t* word, std::uint32_t amount) { return inner_.arrive(word, amount); }
  void allow_next_launch() { inner_.allow_next_launch(); }
  template <class Visit>
  void visit_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing, std::uint32_t slots,
                    Visit visit) {
    inner_.visit_owners(first, last, routing, slots, visit);
  }
  template <class Mark>
  void mark_owners(std::uint32_t first, std::uint32_t last, const protocol::token_ids& routing, std::uint32_t ranks,
                   Mark mark) {
    inner_.mark_owners(first, last, routing, ranks, mark);
  }
  template <class One, class Other>
  void side_by_side(One one, Other other) {
    inner_.side_by_side(one, other);
  }
  std::uint32_t fetch_or(std::uint32_t* word, std::uint32_t bits) { return inner_.fetch_or(word, bits); }
  bool swap_if(std::uint32_t* word, std::uint32_t expected, std::uint32_t value) {
    if (hits(operation::claim, word) && dropped()) return false;
    return inner_.swap_if(word, expected, value);
  }
  void depart(std::uint32_t* word, std::uint32_t value) { inner_.depart(word, value); }
  std::uint32_t load_departed(std::uint32_t* word) { return inner_.load_departed(word); }
  bool elect(std::uint32_t* word) { return inner_.elect(word); }
  std::uint64_t first_entry(std::uint64_t* word, std::uint64_t now) { return inner_.first_entry(word, now); }
  std::uint32_t load_u32(std::uint32_t* word) { return inner_.load_u32(word); }
  void record(layout::fault_mailbox* mailbox, const fault_record& what) { inner_.record(mailbox, what); }
  template <class Body>
  void for_each_row(std::uint64_t count, Body body) {
    inner_.for_each_row(count, body);
  }

  std::uint32_t draw_ticket(std::uint32_t* word) {
    if (held_ticket_.word == word) return std::exchange(held_ticket_, {}).ticket;
    const auto ticket = inner_.draw_ticket(word);
    if (held_ticket_.word != nullptr || !hits(operation::draw_ticket, word) || !is(effect::reorder)) return ticket;
    held_ticket_ = {word, ticket};
    return inner_.draw_ticket(word);
  }

  void store_u32(std::uint32_t* word, std::uint32_t value) {
    if (hits(operation::store, word) && dropped()) return;
    inner_.store_u32(word, value);
  }
  void store_u64(std::uint64_t* word, std::uint64_t value) {
    if (hits(operation::store, word) && dropped()) return;
    inner_.store_u64(word, value);
  }
  void announce(std::uint32_t* word, std::uint32_t value) {
    if (hits(operation::store, word) && dropped()) return;
    inner_.announce(word, value);
  }
  void fill_i32(std::int32_t* words, std::int32_t value, std::uint64_t count) {
    if (hits(operation::fill_i32, words) && dropped()) return;
    inner_.fill_i32(words, value, count);
  }
  void fill_nan(std::byte* out, std::uint64_t elements, dtype type) {
    if (hits(operation::fill_nan, out) && dropped()) return;
    inner_.fill_nan(out, elements, type);
  }
  void copy_local(std::byte* out, const std::byte* in, std::uint64_t bytes) {
    if (hits(operation::copy_local, out) && dropped()) return;
    inner_.copy_local(out, in, bytes);
  }

  void put(std::byte* out, const std::byte* in, std::uint64_t bytes) {
    if (!hits(operation::put, out)) return inner_.put(out, in, bytes);
    if (dropped()) return;
    const auto amount = plan_.plan().amount;
    if (is(effect::defer)) return deferred_.push_back({out, in, bytes});
    if (is(effect::shift)) out += amount * bytes;
    if (is(effect::shorten)) bytes -= std::min(amount, bytes);
    if (is(effect::lengthen)) bytes += amount;
    if (is(effect::redirect)) out = redirected(out);
    inner_.put(out, in, bytes);
  }

  void put_u32(std::uint32_t* out, std::uint32_t value) {
    if (hits(operation::put_u32, out)) {
      if (dropped()) return;
      if (is(effect::corrupt)) value ^= static_cast<std::uint32_t>(plan_.plan().amount);
    }
    inner_.put_u32(out, value);
  }

  template <class TargetAt>
  void put_rows(const protocol::payload_list& payloads, std::uint64_t token, std::uint32_t targets,
                TargetAt target_at) {
    protocol::put_one_by_one(*this, payloads, token, targets, target_at);
  }

  void post(std::uint64_t* word, std::uint64_t value) {
    if (!hits(operation::post, word)) return inner_.post(word, value);
    if (dropped()) return;
    const auto amount = plan_.plan().amount;
    if (is(effect::retag)) value = retagged(value);
    if (is(effect::corrupt)) value ^= amount & 0xFFFFFFFFU;
    if (is(effect::next_slot)) word += static_cast<std::int64_t>(amount) / std::int64_t{sizeof(*word)};
    if (is(effect::redirect)) word = redirected(word);
    inner_.post(word, value);
  }

  std::uint64_t poll(const std::uint64_t* word) {
    auto value = inner_.poll(word);
    if (!hits(operation::poll, word)) return value;
    if (is(effect::retag)) value = layout::tagged(layout::data_of(value), epoch_);
    if (is(effect::corrupt)) value ^= plan_.plan().amount & 0xFFFFFFFFU;
    return value;
  }

  std::uint64_t poll_flag(const std::uint64_t* word) {
    const auto value = inner_.poll_flag(word);
    if (!hits(operation::poll_flag, word) || !is(effect::retag)) return value;
    return layout::tagged(layout::data_of(value), epoch_);
  }

  template <class WordAt>
  void publish(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    inner_.publish(count, changed(word_at, value), value);
    flush_deferred();
  }
  void release_launches(std::uint64_t count) { inner_.release_launches(count); }
  template <class WordAt>
  void publish_released(std::uint64_t count, WordAt word_at, std::uint64_t value) {
    inner_.publish_released(count, changed(word_at, value), value);
    flush_deferred();
  }
  template <class WordAt>
  void publish_when_last(std::uint32_t* arrived, std::uint32_t total, std::uint64_t count, WordAt word_at,
                         std::uint64_t value) {
    // What is deferred comes when the block has nothing more to send: in time only for a flag that is not raised yet.
    inner_.publish_when_last(arrived, total, count, changed(word_at, value), value);
  }

  template <class Ready, class Probe>
  protocol::wait_status wait_all(std::uint64_t count, Ready ready, const protocol::wait_bounds& bounds, Probe probe) {
    auto changed = bounds;
    if (skips(changed)) return protocol::wait_status::ready;
    return inner_.wait_all(count, ready, changed, probe);
  }
  template <class Advance, class Probe>
  protocol::wait_status wait_until(Advance advance, const protocol::wait_bounds& bounds, Probe probe) {
    auto changed = bounds;
    if (skips(changed)) return protocol::wait_status::ready;
    return inner_.wait_until(advance, changed, probe);
  }

  template <class RowAt>
  void sum_rows(std::byte* out, std::uint32_t num_rows, RowAt row_at, std::uint64_t elements, dtype type) {
    if (num_rows < 2 || !hits(operation::sum_rows, row_at(0))) {
      return inner_.sum_rows(out, num_rows, row_at, elements, type);
    }
    if (is(effect::delay)) pause();
    std::vector<const std::byte*> changed;
    for (std::uint32_t i = 0; i < num_rows; ++i) changed.push_back(row_at(i));
    if (is(effect::reorder)) std::reverse(changed.begin(), changed.end());
    if (is(effect::drop)) changed.pop_back();
    if (is(effect::round_each)) return round_each(out, changed, elements, type);
    inner_.sum_rows(
        out, static_cast<std::uint32_t>(changed.size()), [&](std::uint32_t i) { return changed[i]; }, elements, type);
  }

  std::uint64_t load_word(const std::uint64_t* word) { return inner_.load_word(word); }
  void store_word(std::uint64_t* word, std::uint64_t value) {
    const bool hit = value != protocol::armed && hits(operation::list_exception, word);
    if (hit && dropped()) return;
    inner_.store_word(word, hit && is(effect::corrupt) ? value ^ plan_.plan().amount : value);
  }
  protocol::word_pair load_words(const std::uint64_t* words) {
    const auto value = inner_.load_words(words);
    if (!protocol::is_armed(value) || !hits(operation::load_word, words) || !is(effect::retag)) return value;
    return {all_as_come, all_as_come};
  }
  void store_words(std::uint64_t* words, protocol::word_pair value) {
    const bool arms = value == protocol::word_pair{protocol::armed, protocol::armed};
    if (!hits(arms ? operation::rearm_word : operation::send_word, words)) return inner_.store_words(words, value);
    if (dropped()) return;
    const auto amount = plan_.plan().amount;
    if (is(effect::corrupt)) value.first ^= amount;
    if (is(effect::next_slot)) inner_.store_words(words + amount / sizeof(*words), value);  // that one too
    if (is(effect::redirect)) words = redirected(words);
    if (is(effect::defer)) {
      plan_.hold(ws_.rank, epoch_, {words, value.first});
      return plan_.hold(ws_.rank, epoch_, {words + 1, value.second});
    }
    inner_.store_words(words, value);
  }
  protocol::word_pair load_unit(const protocol::located_unit& unit, std::uint64_t row) {
    return inner_.load_unit(unit, row);
  }
  void store_unit(const protocol::located_unit& unit, std::byte* at, protocol::word_pair value) {
    if (hits(operation::store_unit, at) && dropped()) return;
    inner_.store_unit(unit, at, value);
  }

  using held_ids = typename Block::held_ids;
  held_ids ids_of(const protocol::token_ids& routing, std::uint32_t token) { return inner_.ids_of(routing, token); }
  template <class Placed, class Other>
  std::uint32_t visit_ranks(const protocol::token_ids& routing, held_ids ids, std::uint32_t ranks, Placed placed,
                            Other other) {
    return inner_.visit_ranks(routing, ids, ranks, placed, other);
  }

  /// The sources of a unit as they come, so that their sum can be made in another way.
  using unit_sum = std::vector<protocol::word_pair>;
  void add_unit(unit_sum& sum, protocol::word_pair words, bool first, bool, dtype) {
    if (first) sum.clear();
    sum.push_back(words);
  }
  protocol::word_pair rounded_unit(unit_sum& sum, bool alone, dtype type) {
    const bool hit = sum.size() >= 2 && hits(operation::sum_rows, ws_.self);
    if (hit && is(effect::delay)) pause();
    if (hit && is(effect::reorder)) std::reverse(sum.begin(), sum.end());
    if (hit && is(effect::drop)) sum.pop_back();
    alone = alone || sum.size() == 1;
    typename Block::unit_sum inner{};
    for (std::size_t i = 0; i < sum.size(); ++i) {
      if (hit && i >= 2 && is(effect::round_each)) {
        const auto so_far = inner_.rounded_unit(inner, alone, type);
        inner_.add_unit(inner, so_far, true, alone, type);
      }
      inner_.add_unit(inner, sum[i], i == 0, alone, type);
    }
    return inner_.rounded_unit(inner, alone, type);
  }

 private:
  static constexpr std::uint64_t all_as_come = ~std::uint64_t{0};

  /// Other blocks of a Lamport phase may have moved the round on already.
  static std::uint32_t epoch_of(Block& inner, const protocol::workspace_handle& ws) {
    if (ws.layout.dims.lamport_tokens == 0) return inner.load_u32(&ws.round().epoch);
    return inner.load_u32(&ws.block_state(inner.block_index()).epoch);
  }

  /// Whether a wait is left out. It has no target of its own; what it is for, rank and count select it.
  bool skips(protocol::wait_bounds& bounds) {
    flush_deferred();
    const bool meant = !plan_.plan().wait_for || *plan_.plan().wait_for == bounds.what;
    if (!meant || !hits(operation::wait_all, bounds.notice)) return false;
    if (dropped()) return true;
    if (is(effect::extend)) bounds.deadline_ns += plan_.plan().amount * 1000;
    return false;
  }

  /// What a publish is to store to instead of `word_at`.
  template <class WordAt>
  auto changed(const WordAt& word_at, std::uint64_t value) {
    return [this, &word_at, value](std::uint64_t i) -> std::uint64_t* {
      auto* word = word_at(i);
      if (word == nullptr || !hits(operation::publish, word)) return word;
      if (dropped()) return nullptr;
      if (is(effect::redirect)) return redirected(word);
      if (!is(effect::retag)) return word;
      inner_.post(word, retagged(value));
      return nullptr;
    };
  }

  struct held_ticket {
    std::uint32_t* word = nullptr;  ///< that it was drawn from; null: none is held
    std::uint32_t ticket = 0;
  };
  struct held_put {
    std::byte* out;
    const std::byte* in;
    std::uint64_t bytes;
  };

  void flush_deferred() {
    if (deferred_.empty()) return;
    pause();
    for (const auto& held : deferred_) inner_.put(held.out, held.in, held.bytes);
    deferred_.clear();
  }

  void round_each(std::byte* out, const std::vector<const std::byte*>& rows, std::uint64_t elements, dtype type) {
    std::vector<std::byte> sum(rows[0], rows[0] + elements * itemsize(type));
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const std::byte* pair[2] = {sum.data(), rows[i]};
      inner_.sum_rows(
          out, 2, [&](std::uint32_t row) { return pair[row]; }, elements, type);
      std::copy(out, out + sum.size(), sum.begin());
    }
  }

  std::uint32_t epoch_;  ///< of the launch; the workspace's may have moved on when the block ends
  held_ticket held_ticket_;
  std::vector<held_put> deferred_;
};

}  // namespace switchyard::injection
