// SPDX-License-Identifier: Apache-2.0
// Finds out whose row some bytes are. Built only when a difference was found, from the generator alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>

#include "switchyard/harness/case_spec.hpp"
#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {

/// 64 bits of a row that two different rows do not share but by accident (2^-64 a pair).
std::uint64_t hash_row(std::span<const std::byte> row) noexcept;

/// Where a row came from.
struct row_origin {
  int step = -1;
  int rank = -1;
  std::int64_t token = -1;

  friend bool operator==(const row_origin&, const row_origin&) = default;
};

/// Looks rows up among all rows of all ranks of a step. Thread-safe.
class row_index {
 public:
  row_index(const case_spec& spec, std::uint64_t seed) : spec_(spec), seed_(seed) {}

  /// The row of `kind` in `step` with exactly these bytes; the lowest (rank, token) when several have them; nothing
  /// when none has, or when the step does not exist or its rows have another width.
  std::optional<row_origin> find(payload_kind kind, int step, std::span<const std::byte> row);

 private:
  struct place {
    int rank = 0;
    std::int64_t token = 0;
  };
  struct table {
    step_generator generator;
    std::unordered_multimap<std::uint64_t, place> places;
  };
  table& table_of(payload_kind kind, int step);

  case_spec spec_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::map<std::pair<int, payload_kind>, table> tables_;
};

}  // namespace switchyard::harness
