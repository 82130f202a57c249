// SPDX-License-Identifier: Apache-2.0
// Greedy covering arrays, one row at a time: each row starts from a pair that is still owed, then each further axis
// takes the value that covers most; of several such rows the best is kept.
#include "switchyard/harness/pairwise.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "combination_solver.hpp"

namespace switchyard::harness {
namespace {

/// splitmix64 (Steele, Lea, Flood 2014), seeded by the axes alone.
class fixed_random {
 public:
  explicit fixed_random(const std::vector<std::size_t>& sizes) {
    for (const auto size : sizes) state_ = (state_ ^ size) * 0x9E3779B97F4A7C15ULL + 1;
  }
  std::size_t below(std::size_t bound) {
    state_ += 0x9E3779B97F4A7C15ULL;
    auto mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBULL;
    return static_cast<std::size_t>((mixed ^ (mixed >> 31U)) % bound);
  }

 private:
  std::uint64_t state_ = 0;
};

/// Which pairs are still owed.
class owed_pairs {
 public:
  owed_pairs(const combination_space& space, combination_solver& solver) : sizes_(space.axis_sizes) {
    for (const auto size : sizes_) {
      first_.push_back(num_values_);
      num_values_ += size;
    }
    per_value_.resize(num_values_);
    owed_.resize(num_values_ * num_values_);
    combination partial(sizes_.size(), unset);
    for (std::size_t a = 0; a < sizes_.size(); ++a) {
      for (partial[a] = 0; partial[a] < sizes_[a]; ++partial[a]) {
        for (std::size_t b = a + 1; b < sizes_.size(); ++b) {
          for (partial[b] = 0; partial[b] < sizes_[b]; ++partial[b]) {
            if (solver.can_complete(partial)) set(a, partial[a], b, partial[b], true);
          }
          partial[b] = unset;
        }
      }
      partial[a] = unset;
    }
  }

  [[nodiscard]] bool any() const { return total_ > 0; }
  [[nodiscard]] bool has(std::size_t a, std::size_t value_a, std::size_t b, std::size_t value_b) const {
    return owed_[(first_[a] + value_a) * num_values_ + first_[b] + value_b] != 0;
  }
  /// Pairs owed that have this value.
  [[nodiscard]] std::size_t of_value(std::size_t axis, std::size_t value) const {
    return per_value_[first_[axis] + value];
  }
  void cover(const combination& row) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        if (has(a, row[a], b, row[b])) set(a, row[a], b, row[b], false);
      }
    }
  }

 private:
  void set(std::size_t a, std::size_t value_a, std::size_t b, std::size_t value_b, bool is_owed) {
    const auto left = first_[a] + value_a;
    const auto right = first_[b] + value_b;
    owed_[left * num_values_ + right] = owed_[right * num_values_ + left] = is_owed ? 1 : 0;
    const auto change = is_owed ? std::size_t{1} : ~std::size_t{0};  // modulo 2^64: minus one
    per_value_[left] += change;
    per_value_[right] += change;
    total_ += change;
  }

  const std::vector<std::size_t>& sizes_;
  std::vector<std::size_t> first_;  // [axis]: number of its first value, all axes' values counted through
  std::size_t num_values_ = 0;
  std::vector<std::uint8_t> owed_;  // symmetric
  std::vector<std::size_t> per_value_;
  std::size_t total_ = 0;
};

struct candidate_row {
  combination values;
  std::size_t gain = 0;
};

class row_builder {
 public:
  row_builder(const combination_space& space, combination_solver& solver, const owed_pairs& owed, fixed_random& random)
      : sizes_(space.axis_sizes), solver_(solver), owed_(owed), random_(random), used_(sizes_.size()) {
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis) used_[axis].resize(sizes_[axis]);
  }

  candidate_row build() {
    candidate_row row{combination(sizes_.size(), unset), 0};
    std::vector<std::size_t> order(sizes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random_.below(left)]);
    prefers_owed_ = random_.below(2) == 0;
    start(row, order);
    for (const auto axis : order) {
      if (row.values[axis] == unset) extend(row, axis);
    }
    return row;
  }

  void keep(const combination& row) {
    for (std::size_t axis = 0; axis < row.size(); ++axis) ++used_[axis][row[axis]];
  }

 private:
  /// Places the value of which most pairs are owed, and one partner: owed pairs can be completed, so a row always
  /// covers something and the loop over rows ends.
  void start(candidate_row& row, const std::vector<std::size_t>& order) {
    std::size_t axis = unset;
    std::size_t value = 0;
    for (const auto a : order) {
      for (std::size_t v = 0; v < sizes_[a]; ++v) {
        if (axis == unset || owed_.of_value(a, v) > owed_.of_value(axis, value)) axis = a, value = v;
      }
    }
    row.values[axis] = value;
    for (const auto other : order) {
      if (other == axis) continue;
      auto best = unset;
      const auto turn = random_.below(sizes_[other]);
      for (std::size_t i = 0; i < sizes_[other]; ++i) {
        const auto v = (turn + i) % sizes_[other];
        if (!owed_.has(axis, value, other, v)) continue;
        if (best == unset || (prefers_owed_ && owed_.of_value(other, v) > owed_.of_value(other, best))) best = v;
      }
      if (best == unset) continue;
      row.values[other] = best;
      row.gain = 1;
      return;
    }
  }

  void extend(candidate_row& row, std::size_t axis) {
    auto best = unset;
    std::size_t best_gain = 0;
    const auto turn = random_.below(sizes_[axis]);  // where equals are looked at first
    for (std::size_t i = 0; i < sizes_[axis]; ++i) {
      const auto value = (turn + i) % sizes_[axis];
      std::size_t gain = 0;
      for (std::size_t other = 0; other < sizes_.size(); ++other) {
        if (row.values[other] != unset && owed_.has(axis, value, other, row.values[other])) ++gain;
      }
      if (best != unset && !is_better(axis, value, gain, best, best_gain)) continue;
      row.values[axis] = value;
      if (solver_.matters(axis) && !solver_.can_complete(row.values)) continue;
      best = value;
      best_gain = gain;
    }
    row.values[axis] = best;  // never unset: what was there before could be completed
    row.gain += best_gain;
  }

  /// Of values that cover the same number of pairs, that with more owed (in half of the rows: it helps and misleads);
  /// then the one used least, so that values which owe nothing any more are spread evenly.
  [[nodiscard]] bool is_better(std::size_t axis, std::size_t value, std::size_t gain, std::size_t than,
                               std::size_t than_gain) const {
    if (gain != than_gain) return gain > than_gain;
    const auto owed = owed_.of_value(axis, value);
    const auto than_owed = owed_.of_value(axis, than);
    if (owed != than_owed && prefers_owed_) return owed > than_owed;
    if (owed > 0 || than_owed > 0) return false;
    return used_[axis][value] < used_[axis][than];
  }

  const std::vector<std::size_t>& sizes_;
  combination_solver& solver_;
  const owed_pairs& owed_;
  fixed_random& random_;
  std::vector<std::vector<std::size_t>> used_;  // [axis][value]: rows that have it
  bool prefers_owed_ = false;                   // in the row that is being built
};

/// How often to try: both give smaller arrays.
struct effort {
  std::size_t candidates = 1;  ///< rows to choose the next row from
  std::size_t attempts = 1;    ///< arrays to choose from
};

/// Bounded by the work that it costs, estimated from the axes alone so that it is the same everywhere.
effort effort_for(const std::vector<std::size_t>& sizes) {
  constexpr double budget = 2e7;  // looks at a pair, all rows of all arrays: some tenths of a second
  auto largest = sizes;
  std::sort(largest.rbegin(), largest.rend());
  const auto values = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  const auto rows = 1.5 * static_cast<double>(largest[0]) * static_cast<double>(largest[1]);
  const auto looks = rows * values * static_cast<double>(sizes.size()) / 2;
  const auto candidates = std::clamp(budget / looks, 1.0, 20.0);
  const auto attempts = std::clamp(budget / looks / candidates, 1.0, 20.0);
  return {static_cast<std::size_t>(candidates), static_cast<std::size_t>(attempts)};
}

std::vector<combination> make_rows(row_builder builder, owed_pairs& owed, std::size_t candidates) {
  std::vector<combination> rows;
  while (owed.any()) {
    auto best = builder.build();
    for (std::size_t i = 1; i < candidates; ++i) {
      auto other = builder.build();
      if (other.gain > best.gain) best = std::move(other);
    }
    owed.cover(best.values);
    builder.keep(best.values);
    rows.push_back(std::move(best.values));
  }
  return rows;
}

}  // namespace

bool matches(const combination_pattern& pattern, const combination& which) {
  return std::all_of(pattern.members.begin(), pattern.members.end(), [&](const auto& member) {
    return std::find(member.values.begin(), member.values.end(), which[member.axis]) != member.values.end();
  });
}

bool combination_space::allows(const combination& which) const {
  return std::none_of(forbidden.begin(), forbidden.end(),
                      [&](const combination_pattern& pattern) { return matches(pattern, which); });
}

std::vector<std::vector<bool>> combination_space::possible_values() const {
  combination_solver solver(*this);
  std::vector<std::vector<bool>> possible;
  combination partial(axis_sizes.size(), unset);
  for (std::size_t axis = 0; axis < axis_sizes.size(); ++axis) {
    auto& of_axis = possible.emplace_back();
    for (partial[axis] = 0; partial[axis] < axis_sizes[axis]; ++partial[axis]) {
      of_axis.push_back(solver.can_complete(partial));
    }
    partial[axis] = unset;
  }
  return possible;
}

std::vector<combination> pairwise_rows(const combination_space& space) {
  std::vector<combination> rows;
  if (space.axis_sizes.size() == 1) {
    for (std::size_t value = 0; value < space.axis_sizes.front(); ++value) {
      if (space.allows({value})) rows.push_back({value});
    }
    return rows;
  }
  combination_solver solver(space);
  const owed_pairs all(space, solver);
  fixed_random random(space.axis_sizes);
  const auto [candidates, attempts] = effort_for(space.axis_sizes);
  for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
    auto owed = all;
    auto more = make_rows({space, solver, owed, random}, owed, candidates);
    if (attempt == 0 || more.size() < rows.size()) rows = std::move(more);
  }
  return rows;
}

}  // namespace switchyard::harness
