// SPDX-License-Identifier: Apache-2.0
// The sizes of a drawn case, within its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "switchyard/harness/generator_random.hpp"
#include "switchyard/harness/random_cases.hpp"

namespace switchyard::harness {

/// Draws numbers the way protocols break: ends and neighbours of ends half of the time, else small ones more often.
class corner_random {
 public:
  explicit corner_random(std::uint64_t key) : random_(key) {}

  /// A number of [least, most]; a corner outside of it is never taken. Precondition: least <= most < 2^31.
  std::int64_t number(std::int64_t least, std::int64_t most, std::initializer_list<std::int64_t> corners);
  /// Every number of [least, most] equally likely.
  std::int64_t evenly(std::int64_t least, std::int64_t most);
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return random_.chance(numerator, denominator); }
  template <typename Container>
  const auto& one_of(const Container& values) {
    return values[static_cast<std::size_t>(random_.below(values.size()))];
  }

 private:
  counter_random random_;
};

/// Sizes that decide what a case costs; the other fields are drawn inside of them.
struct random_shape {
  bool fault_due = false;
  std::int64_t ranks = 1;
  std::int64_t experts = 1;
  std::int64_t top_k = 1;
  std::int64_t hidden_size = 1;
  std::int64_t capacity = 1;  ///< tokens per rank at most
  std::int64_t extra_bytes = 0;
  std::int64_t eplb_stats = 0;
  std::int64_t steps = 1;
  std::int64_t workers = 1;
  switchyard::dtype dtype = switchyard::dtype::bf16;
  std::optional<switchyard::dispatch_format> dispatch_format = std::nullopt;
};

/// Throws input_error when not even the smallest case fits the limits.
random_shape draw_shape(corner_random& random, const random_limits& limits);

}  // namespace switchyard::harness
