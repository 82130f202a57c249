// SPDX-License-Identifier: Apache-2.0
// Hash tables over the rows of a step.
#include "switchyard/harness/row_index.hpp"

#include <bit>
#include <cstring>
#include <vector>

#include "switchyard/harness/generator_random.hpp"

namespace switchyard::harness {
namespace {

// Ranks run ahead by a few steps at most, so older tables are not asked for again.
constexpr std::size_t most_tables = 40;

}  // namespace

std::uint64_t hash_row(std::span<const std::byte> row) noexcept {
  std::uint64_t hash = mix64(row.size());
  std::size_t i = 0;
  for (; i + 8 <= row.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, row.data() + i, 8);
    hash = std::rotl((hash ^ word) * golden_gamma, 29);
  }
  if (i < row.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, row.data() + i, row.size() - i);
    hash = std::rotl((hash ^ word) * golden_gamma, 29);
  }
  return mix64(hash);
}

row_index::table& row_index::table_of(payload_kind kind, int step) {
  const std::pair key{step, kind};
  if (const auto known = tables_.find(key); known != tables_.end()) return known->second;
  if (tables_.size() >= most_tables) tables_.erase(tables_.begin());  // the oldest step
  auto& made = tables_.emplace(key, table{step_generator(spec_, seed_, step), {}}).first->second;
  std::vector<std::byte> row(made.generator.row_bytes(kind));
  if (row.empty()) return made;
  for (int rank = 0; rank < spec_.ep_size; ++rank) {
    const auto count = made.generator.plan().num_tokens[static_cast<std::size_t>(rank)];
    for (std::int64_t token = 0; token < count; ++token) {
      made.generator.fill_row(kind, rank, token, row.data());
      made.places.emplace(hash_row(row), place{rank, token});
    }
  }
  return made;
}

std::optional<row_origin> row_index::find(payload_kind kind, int step, std::span<const std::byte> row) {
  if (step < 0 || step >= spec_.steps || row.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto& rows = table_of(kind, step);
  if (rows.generator.row_bytes(kind) != row.size()) return std::nullopt;
  std::optional<row_origin> best;
  std::vector<std::byte> candidate(row.size());
  const auto [first, last] = rows.places.equal_range(hash_row(row));
  for (auto it = first; it != last; ++it) {
    const auto [rank, token] = it->second;
    rows.generator.fill_row(kind, rank, token, candidate.data());
    if (std::memcmp(candidate.data(), row.data(), row.size()) != 0) continue;
    if (!best || std::pair{rank, token} < std::pair{best->rank, best->token}) best = row_origin{step, rank, token};
  }
  return best;
}

}  // namespace switchyard::harness
