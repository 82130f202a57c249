// SPDX-License-Identifier: Apache-2.0
// The inputs of all ranks, made once for the largest point; a smaller point takes the first tokens of each rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "switchyard/harness/bench_run.hpp"
#include "switchyard/harness/generator.hpp"

namespace switchyard::harness {

class bench_inputs {
 public:
  explicit bench_inputs(const bench_options& options);

  [[nodiscard]] std::size_t row_bytes(payload_kind kind) const noexcept {
    return row_bytes_[static_cast<std::size_t>(kind)];
  }
  /// Rows of every token of `rank`.
  [[nodiscard]] std::span<const std::byte> rows(payload_kind kind, int rank) const {
    return rows_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const std::byte* row(payload_kind kind, int rank, std::int64_t token) const {
    return rows(kind, rank).data() + static_cast<std::size_t>(token) * row_bytes(kind);
  }
  /// The routing of the first `tokens` tokens of every rank.
  [[nodiscard]] std::vector<reference::rank_routing> routing(std::int64_t tokens) const;

 private:
  comm_params params_;
  std::array<std::size_t, all_payloads.size()> row_bytes_{};
  std::vector<std::array<std::vector<std::byte>, all_payloads.size()>> rows_;
};

}  // namespace switchyard::harness
