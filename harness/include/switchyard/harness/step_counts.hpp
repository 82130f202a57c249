// SPDX-License-Identifier: Apache-2.0
// Counts by step and rank, as scenario files write them in one text.
//
//   counts = ranks {"/" ranks}        one entry a step; the steps of a case walk them round and round
//   ranks  = count {":" count}        one count: of all ranks; else one for each rank
//   count  = 0 .. 1048576, no leading zeros
//
// "0:32:32:32/8" says: in steps 0, 2, 4 ... rank 0 has none and the others 32; in steps 1, 3, 5 ... all have 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::harness {

/// A table of counts.
class step_counts {
 public:
  static constexpr std::int64_t most_count = std::int64_t{1} << 20;  ///< the bound that `tokens` has
  static constexpr std::size_t most_counts = 4096;                   ///< 16 steps of the largest group

  /// 0 for every step and rank.
  step_counts() = default;

  /// Nothing when `text` breaks the grammar or has more than most_counts counts.
  static std::optional<step_counts> parse(std::string_view text);

  /// Precondition: 0 <= step, 0 <= rank, and fits(a group with that rank).
  [[nodiscard]] std::int64_t at(int step, int rank) const noexcept;
  [[nodiscard]] std::int64_t largest() const noexcept;
  [[nodiscard]] std::size_t steps() const noexcept { return steps_.size(); }
  /// Whether every step has one count, or one for each of `ep_size` ranks.
  [[nodiscard]] bool fits(int ep_size) const noexcept;
  /// The text that parse() reads back.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const step_counts&, const step_counts&) = default;

 private:
  std::vector<std::vector<std::int64_t>> steps_{{0}};
};

}  // namespace switchyard::harness
