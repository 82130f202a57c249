// SPDX-License-Identifier: Apache-2.0
// A planned deviation from the protocol: which of a block's operations is changed, where, and how.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "layout/workspace_layout.hpp"

namespace switchyard::injection {

/// The operations of protocol::block that can be changed.
enum class operation : std::uint8_t {
  put,
  put_u32,
  post,
  publish,
  poll,
  poll_flag,
  wait_all,
  draw_ticket,
  store,  ///< store_u32, store_u64 and announce
  fill_i32,
  fill_nan,
  copy_local,
  sum_rows,
  send_word,       ///< store_words of what is sent
  rearm_word,      ///< store_words of what is re-armed
  load_word,       ///< load_words
  list_exception,  ///< store_word: what a stand-in stands for
  store_unit,
  quantise,  ///< put_quantised and quantise_unit
  claim,     ///< swap_if
};

/// What is done instead. `amount` is that of the mutation.
enum class effect : std::uint8_t {
  extend,     ///< wait_all: with a deadline `amount` microseconds later
  drop,       ///< not at all (wait_all: returns at once; sum_rows: the last row is left out)
  delay,      ///< `amount` microseconds later than it should, in the caller's time
  defer,      ///< put: after the block's next publish, in dispatch its last send, and `amount` microseconds more; as if
              ///< the release were missing;
              ///< rearm_word: at the end of this rank's next phase, and `amount` microseconds later
  shift,      ///< put: `amount` rows further
  shorten,    ///< put: without the last `amount` bytes
  lengthen,   ///< put: with `amount` bytes more than the row has
  redirect,   ///< put, post, publish, send_word: at the rank `amount` places after the right one
  retag,      ///< post, publish: `amount` added to the tag; poll, poll_flag: every tag reads as the epoch that is due;
              ///< load_word: an armed word reads as one that has come
  corrupt,    ///< post, poll, put_u32, send_word, list_exception, quantise: data xor `amount`
  next_slot,  ///< post: `amount` bytes further in the region, as a signed number; rearm_word: there too
  reorder,    ///< draw_ticket: pairs of tickets swapped; sum_rows: rows in reverse
  round_each,  ///< sum_rows: the sum is rounded after every row; not in low precision
  as_is,  ///< sum_rows, in low precision by fence: a token's only row, where it is its rank's own, is not quantised
  next_scale,  ///< quantise: the scale that goes with a block is that of the one behind it, or of the first
};

struct mutation {
  operation op = operation::put;
  effect what = effect::drop;
  std::uint64_t amount = 0;
  std::optional<layout::region> region = std::nullopt;  ///< only where the operation's target lies in this region
  std::optional<std::uint64_t> offset = std::nullopt;   ///< only at this byte offset in the region
  std::optional<awaited> wait_for = std::nullopt;       ///< only waits for this
  std::optional<std::int32_t> rank = std::nullopt;      ///< only on this rank
  std::optional<std::int32_t> peer = std::nullopt;      ///< only where the target lies in this rank's workspace
  bool to_self = false;                       ///< only where the target lies in the acting rank's own workspace
  bool to_peers = false;                      ///< only where it lies in another rank's
  std::uint64_t skip_first = 0;               ///< leave the first matches alone
  std::uint64_t at_most = ~std::uint64_t{0};  ///< then change this many
};

/// A store that has been put off.
struct held_word {
  std::uint64_t* word;
  std::uint64_t value;
};

/// A mutation and how often it has come up; shared by the blocks of all ranks.
class injector {
 public:
  explicit injector(const mutation& plan) : plan_(plan) {}

  [[nodiscard]] const mutation& plan() const { return plan_; }
  /// Counts a match; whether it is one to change.
  bool take() {
    const auto match = matches_.fetch_add(1, std::memory_order_relaxed);
    return match >= plan_.skip_first && match - plan_.skip_first < plan_.at_most;
  }
  /// Keeps a store of a rank in a phase until a later phase of that rank takes it.
  void hold(std::int32_t rank, std::uint32_t epoch, held_word store) {
    const std::lock_guard lock(mutex_);
    held_[{rank, epoch}].push_back(store);
  }
  /// What `rank` holds from phases other than `epoch`.
  [[nodiscard]] std::vector<held_word> take_held(std::int32_t rank, std::uint32_t epoch) {
    std::vector<held_word> taken;
    const std::lock_guard lock(mutex_);
    std::erase_if(held_, [&](const auto& of_phase) {
      if (of_phase.first.first != rank || of_phase.first.second == epoch) return false;
      taken.insert(taken.end(), of_phase.second.begin(), of_phase.second.end());
      return true;
    });
    return taken;
  }
  [[nodiscard]] std::uint64_t matches() const { return matches_.load(std::memory_order_relaxed); }

 private:
  mutation plan_;
  std::atomic<std::uint64_t> matches_{0};
  std::mutex mutex_;
  std::map<std::pair<std::int32_t, std::uint32_t>, std::vector<held_word>> held_;  ///< by rank and epoch
};

}  // namespace switchyard::injection
