// SPDX-License-Identifier: Apache-2.0
// What goes into a step and what comes out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/faults.hpp"

namespace switchyard {

/// One tensor that travels with each token: [num_tokens, row_bytes] bytes, contiguous, data 16-byte aligned.
/// Presence and width are declared, never deduced from the pointer: with no tokens `data` may be null while `present`
/// and `row_bytes` still count, because all ranks must declare the same set and widths.
struct payload {
  const void* data = nullptr;
  std::size_t row_bytes = 0;
  bool present = false;
};

/// One rank's tokens of a step.
struct dispatch_inputs {
  std::int64_t num_tokens = 0;  ///< n >= 0, n <= T
  payload hidden_states;        ///< required; row_bytes 1 .. capacity
  payload topk_ids;             ///< required; [n, top_k] int32 global expert ids, row_bytes = 4 * top_k
  payload topk_weights;         ///< optional; opaque, row_bytes 1 .. 4 * top_k
  payload hidden_states_scale;  ///< optional; row_bytes 1 .. capacity
  payload extra;                ///< optional; row_bytes 1 .. extra_payload_bytes_per_token
};

struct dispatch_options {
  /// T, the row stride of the step: >= 1, >= n, <= max_tokens_per_rank, equal on all ranks. None: max_tokens_per_rank.
  std::optional<std::int64_t> runtime_max_tokens_per_rank = std::nullopt;
  /// This rank's load statistics, int32 [length] in memory of the fabric's device, 16-byte aligned, unchanged until the
  /// phase ends on its stream: opaque integers, whoever counts what, such as tokens by global expert. length <=
  /// eplb_stats_num_experts, equal on all ranks; ranks that declare different ones are a step_mismatch of the field
  /// eplb_stats_length. Empty: none in this step. They travel whatever num_tokens is. A captured dispatch keeps the
  /// pointer and the length, and reads the integers anew on every replay.
  std::span<const std::int32_t> eplb_local_stats = {};
};

/// Rows [ep_size * T, row_bytes] in the workspace; data null when the payload was not declared.
struct rows_view {
  std::byte* data = nullptr;
  std::size_t row_bytes = 0;
};

enum class row_order : std::uint8_t {
  packed,      ///< a source's tokens fill its first rows, in source order
  positional,  ///< token t of source s has row s*T + t; rows of tokens that were not routed here hold none
};

/// Views into the workspace. Their addresses depend only on the layout, T and the payload set. Contents are valid from
/// the end of dispatch on its stream until the matching combine starts there.
struct dispatch_result {
  rows_view hidden_states;
  rows_view topk_ids;  ///< int32; a row that holds no token has all ids = invalid_expert_id
  rows_view topk_weights;
  rows_view hidden_states_scale;
  rows_view extra;
  std::int64_t tokens_per_rank = 0;           ///< T: source s owns rows s*T .. s*T + T - 1
  std::span<const std::int32_t> recv_counts;  ///< [ep_size], device memory: rows routed here from each source
  /// Device memory: routes (token, k) of this rank's that lead to a rank that is masked off. 0 without rank masks.
  const std::int32_t* dropped_routes = nullptr;
  /// [ep_size, length] device memory: the eplb_local_stats of every rank in this very step, by rank, bit for bit; zeros
  /// for a rank that is masked off, and everywhere after a dispatch that failed. Empty where this rank gave none. The
  /// address depends on the layout alone.
  std::span<const std::int32_t> eplb_gathered_stats = {};
  row_order order = row_order::packed;
  switchyard::transport transport = switchyard::transport::fence;  ///< of this step, dispatch and combine
  std::string_view transport_reason;  ///< why that one, in a phrase that lives as long as the program
};

struct combine_inputs {
  const void* expert_output = nullptr;  ///< [ep_size * T, hidden_size] of `dtype`, rows as dispatch left them
  std::int64_t hidden_size = 0;         ///< h, <= capacity, equal on all ranks
  switchyard::dtype dtype = switchyard::dtype::bf16;
};

struct combine_output {
  void* data = nullptr;         ///< [num_tokens, hidden_size] of the inputs' dtype; null allowed when num_tokens is 0
  std::int64_t num_tokens = 0;  ///< n of the dispatch
};

}  // namespace switchyard
