// SPDX-License-Identifier: Apache-2.0
// Buffers as a faultless library would leave them, for tests that plant an error and ask for the verdict.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <span>
#include <vector>

#include "small_case.hpp"
#include "switchyard/harness/canary.hpp"
#include "switchyard/harness/rank_inputs.hpp"
#include "switchyard/harness/verifier.hpp"
#include "switchyard/reference/golden_model.hpp"
#include "switchyard/reference/simulated_expert.hpp"

namespace switchyard::harness {

/// One rank's views after a dispatch. Rows that hold no token have poison, but for their ids.
class hand_made_views {
 public:
  hand_made_views(const step_inputs& inputs, int rank) {
    const auto& golden = inputs.golden(rank);
    const std::int64_t stride = inputs.plan().tokens_per_rank;
    for (const auto kind : all_payloads) {
      const std::size_t row_bytes = inputs.generator().row_bytes(kind);
      auto& rows = rows_[static_cast<std::size_t>(kind)];
      rows.assign(row_bytes * golden.source_tokens.size(), poison_byte(inputs.step() - 1));
      for (std::size_t row = 0; row < golden.source_tokens.size(); ++row) {
        const std::int64_t token = golden.source_tokens[row];
        if (row_bytes > 0 && token >= 0) {
          const int source = static_cast<int>(static_cast<std::int64_t>(row) / stride);
          std::memcpy(rows.data() + row * row_bytes, inputs.row(kind, source, token), row_bytes);
        } else if (kind == payload_kind::topk_ids) {
          for (std::size_t at = 0; at < row_bytes; at += 4) {
            std::memcpy(rows.data() + row * row_bytes + at, &inputs.params().invalid_expert_id, 4);
          }
        }
      }
    }
    counts = golden.recv_counts;
    const auto view = [&](payload_kind kind) {
      auto& rows = rows_[static_cast<std::size_t>(kind)];
      return rows_view{rows.empty() ? nullptr : rows.data(), inputs.generator().row_bytes(kind)};
    };
    result.hidden_states = view(payload_kind::hidden_states);
    result.topk_ids = view(payload_kind::topk_ids);
    result.topk_weights = view(payload_kind::topk_weights);
    result.hidden_states_scale = view(payload_kind::hidden_states_scale);
    result.extra = view(payload_kind::extra);
    result.tokens_per_rank = stride;
    result.recv_counts = counts;
    statistics.assign(inputs.gathered_statistics().begin(), inputs.gathered_statistics().end());
    result.eplb_gathered_stats = statistics;
  }
  hand_made_views(const hand_made_views&) = delete;
  hand_made_views& operator=(const hand_made_views&) = delete;

  std::byte* row(payload_kind kind, std::int64_t index) {
    const rows_view& view = view_of(result, kind);
    return view.data + static_cast<std::size_t>(index) * view.row_bytes;
  }

  std::vector<std::int32_t> counts;
  std::vector<std::int32_t> statistics;
  dispatch_result result;

 private:
  std::array<std::vector<std::byte>, all_payloads.size()> rows_;
};

/// The output of `rank` as a faultless combine would leave it, computed here from all received rows: each owner's row
/// for the token in slot order.
/// `scales`: of rows that have some, instead of those that travelled.
inline std::vector<std::byte> hand_made_output(const step_inputs& inputs, int rank,
                                               reference::expert_law experts = reference::expert_law::scaled,
                                               const std::byte* scales = nullptr) {
  const auto& params = inputs.params();
  const std::size_t full = static_cast<std::size_t>(params.hidden_size) * itemsize(params.dtype);
  const auto width = static_cast<std::size_t>(inputs.plan().combine_hidden_size);
  const auto count = inputs.plan().num_tokens[static_cast<std::size_t>(rank)];
  std::vector<std::byte> output(static_cast<std::size_t>(count) * width * itemsize(params.dtype));
  for (std::int64_t token = 0; token < count; ++token) {
    const auto ids = inputs.topk_ids(rank, token);
    std::vector<int> owners;
    for (const std::int32_t id : ids) {
      const int owner = reference::owner_of(id, params.num_experts, inputs.ep_size());
      if (owner >= 0 && std::ranges::find(owners, owner) == owners.end()) owners.push_back(owner);
    }
    std::vector<std::vector<std::byte>> rows(owners.size(), std::vector<std::byte>(full));
    std::vector<const std::byte*> pointers;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      reference::simulated_expert_row(
          owners[i], inputs.ep_size(), params, ids, inputs.topk_weights(rank, token),
          inputs.row(payload_kind::hidden_states, rank, token),
          scales != nullptr ? scales : inputs.row(payload_kind::hidden_states_scale, rank, token), rows[i].data(),
          experts);
      pointers.push_back(rows[i].data());
    }
    reference::combine_token(pointers, owners, width, params.dtype, reference::sum_order::slot_order,
                             output.data() + static_cast<std::size_t>(token) * width * itemsize(params.dtype));
  }
  return output;
}

/// The small case by fence: its packed rows are the first of a source's slice.
inline case_spec packed_case() {
  auto spec = small_case(3);
  spec.lamport = choice::off;
  return spec;
}

/// A case with three ranks, its inputs, and rank 1's verifier. Step 2, so that there are earlier steps to be stale
/// from.
struct verified_rank {
  static constexpr int rank = 1;
  static constexpr int step = 2;
  static constexpr std::uint64_t seed = 11;

  explicit verified_rank(case_spec with = packed_case())
      : spec(with), inputs(spec, memory), rows(spec, seed), verifier(spec, rank, rows) {
    inputs.generate(seed, step);
  }

  /// Row of the first token that `source` sends to the rank, or the one after it, ...
  [[nodiscard]] std::int64_t row_of(int source, std::int64_t index) const {
    return source * inputs.plan().tokens_per_rank + index;
  }
  [[nodiscard]] std::int64_t token_in(std::int64_t row) const {
    return inputs.golden(rank).source_tokens[static_cast<std::size_t>(row)];
  }

  std::pmr::monotonic_buffer_resource memory;
  case_spec spec;
  step_inputs inputs;
  row_index rows;
  rank_verifier verifier;
  finding_log log;
};

}  // namespace switchyard::harness
