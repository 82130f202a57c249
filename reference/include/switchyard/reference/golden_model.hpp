// SPDX-License-Identifier: Apache-2.0
// The golden model of dispatch and combine: pure functions from all ranks' inputs to all ranks' outputs, slow and
// obvious. It shares words (spec) with the library and nothing else, so that a mistake must be made twice to go unseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/faults.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::reference {

/// Where a source's tokens stand among its T rows.
enum class row_order : std::uint8_t {
  packed,      ///< those that come here fill the first rows, in source order
  positional,  ///< token t has row t; rows of tokens that go elsewhere hold none
};

/// A mask that masks nobody off, whatever the size of the group.
inline constexpr rank_set every_rank = [] {
  rank_set all{};
  all.fill(~std::uint64_t{0});
  return all;
}();

/// The shape of one step.
struct step_shape {
  int ep_size = 1;
  comm_params params;
  std::int64_t tokens_per_rank = 0;  ///< T, the row stride
  row_order rows = row_order::packed;
  rank_set active = every_rank;  ///< who takes part; bits past ep_size mean nothing. Of others nothing is looked at
};

/// One rank's routing: ids [num_tokens, top_k], row-major. Ids outside [0, num_experts) mean "no expert".
struct rank_routing {
  std::int64_t num_tokens = 0;
  std::vector<std::int32_t> topk_ids;
};

/// What one rank must hold after dispatch.
struct dispatched_rank {
  std::vector<std::int32_t> recv_counts;    ///< [ep_size] rows from each source
  std::vector<std::int64_t> source_tokens;  ///< [ep_size * T] token index at source row / T, or -1: holds no token
  std::int64_t dropped_routes = 0;          ///< choices (token, k) of this rank's tokens that lead to an inactive rank
};

/// Load statistics of one rank: how often its tokens choose each of the experts 0 .. length - 1, by global id, wherever
/// they live and whoever takes part. Choices (token, k) that name no expert count nowhere. Throws
/// switchyard::invalid_argument when length < 0.
std::vector<std::int32_t> count_experts(const rank_routing& routing, std::int64_t length);

/// What every active rank has of all ranks' statistics after a dispatch: [ranks, length], zeros for those that do not
/// take part. Throws switchyard::invalid_argument when lengths differ.
std::vector<std::int32_t> gather_statistics(std::span<const std::vector<std::int32_t>> of_ranks,
                                            const rank_set& active = every_rank);

/// The rank that owns `expert`: experts are split contiguously, the first num_experts mod ep_size ranks own one more.
/// -1 for an id outside [0, num_experts). Throws switchyard::invalid_argument when ep_size < 1.
int owner_of(std::int64_t expert, std::int64_t num_experts, int ep_size);

/// The distinct owners of a token's experts, in the order of their first slot, as far as they take part.
std::vector<int> owners_in_slot_order(std::span<const std::int32_t> topk_ids, std::int64_t num_experts, int ep_size,
                                      const rank_set& active = every_rank);

/// Dispatch for all ranks. Throws switchyard::invalid_argument when the inputs contradict the shape.
std::vector<dispatched_rank> dispatch(const step_shape& shape, std::span<const rank_routing> routing);

/// How the rows of one token are summed. The contract is slot_order; the others judge other implementations.
enum class sum_order : std::uint8_t {
  slot_order,     ///< left to right as given (top-k slot order)
  rank_order,     ///< left to right by ascending owner rank
  balanced_tree,  ///< pairs of neighbours in slot order, then pairs of pairs; an odd one out moves up unchanged
};

/// Sum of one token's rows: fp32 accumulation starting from the first row, one rounding (nearest even) to `type`, no
/// contraction, no flush to zero, NaN results canonical (0x7FFF, 0x7FFF, 0x7FFFFFFF), exact +0 without rows. One row
/// comes back bit for bit. `owners` gives each row's rank (used by rank_order only; same length as rows).
/// rows[i] and out: `elements` elements of `type`, no alignment needed; out overlaps no row. Throws
/// switchyard::invalid_argument when the lengths differ or a pointer is null.
void combine_token(std::span<const std::byte* const> rows, std::span<const int> owners, std::size_t elements,
                   dtype type, sum_order order, std::byte* out);

/// Bytes of one step's payload rows of `row_bytes` bytes, counted from the routing. Per rank. count_traffic throws as
/// dispatch does.
struct traffic {
  std::uint64_t selection_bytes = 0;    ///< one row per (token, k) with a valid expert of an active rank, self included
  std::uint64_t unique_bytes = 0;       ///< one row per (token, distinct rank), self included
  std::uint64_t remote_send_bytes = 0;  ///< one row per (token, distinct other rank), sent by this rank
  std::uint64_t remote_recv_bytes = 0;  ///< the same, received by this rank
};
std::vector<traffic> count_traffic(const step_shape& shape, std::span<const rank_routing> routing,
                                   std::size_t row_bytes);

}  // namespace switchyard::reference
