// SPDX-License-Identifier: Apache-2.0
// Counts rows from their routing, token by token.
#include "switchyard/harness/traffic_forecast.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "switchyard/harness/generator.hpp"
#include "switchyard/reference/golden_model.hpp"

namespace switchyard::harness {
namespace {

std::int64_t divide_up(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

/// Adds the bytes of the sampled tokens' rows for other ranks, and of their outputs. `next_token` counts from the first
/// token of the step on and says where the sample goes on.
void add_step(const case_spec& spec, std::uint64_t seed, int step, std::int64_t token_stride, std::int64_t& next_token,
              traffic_forecast& sum) {
  const step_generator made(spec, seed, step);
  const auto row_bytes = made.row_bytes(payload_kind::hidden_states) +
                         made.row_bytes(payload_kind::hidden_states_scale) + made.row_bytes(payload_kind::extra);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(spec.params.top_k));
  std::uint64_t rows = 0;
  for (int rank = 0; rank < spec.ep_size; ++rank) {
    const auto count = made.plan().num_tokens[static_cast<std::size_t>(rank)];
    for (; next_token < count; next_token += token_stride) {
      if (!contains(made.plan().active, rank)) continue;
      made.fill_row(payload_kind::topk_ids, rank, next_token, reinterpret_cast<std::byte*>(ids.data()));
      const auto owners =
          reference::owners_in_slot_order(ids, spec.params.num_experts, spec.ep_size, made.plan().active);
      rows += owners.size() - static_cast<std::size_t>(std::count(owners.begin(), owners.end(), rank));
    }
    next_token -= count;
  }
  sum.remote_bytes += rows * row_bytes;
  sum.returned_bytes += rows * combine_bytes_of(spec.low_precision_combine, spec.params.dtype,
                                                static_cast<std::size_t>(made.plan().combine_hidden_size));
}

}  // namespace

traffic_forecast forecast_traffic(const case_spec& spec, std::uint64_t seed, std::int64_t most_ids) {
  // A step costs its plan and, with balanced routing, a permutation of the experts, however few tokens are drawn.
  const std::int64_t step_cost = spec.ep_size + spec.params.num_experts;
  const auto step_stride = std::max<std::int64_t>(1, divide_up(spec.steps * step_cost, most_ids));
  const auto ids = divide_up(spec.steps, step_stride) * spec.ep_size * spec.num_tokens * spec.params.top_k;
  const auto token_stride = std::max<std::int64_t>(1, divide_up(ids, most_ids));
  traffic_forecast result;
  result.exact = step_stride == 1 && token_stride == 1;
  std::int64_t next_token = 0;
  std::int64_t steps = 0;
  for (std::int64_t step = 0; step < spec.steps; step += step_stride, ++steps) {
    add_step(spec, seed, static_cast<int>(step), token_stride, next_token, result);
  }
  if (result.exact) return result;
  for (auto* bytes : {&result.remote_bytes, &result.returned_bytes}) {
    const double whole = static_cast<double>(*bytes) * static_cast<double>(token_stride) *
                         static_cast<double>(spec.steps) / static_cast<double>(steps);
    const bool fits = whole < static_cast<double>(max_forecast_bytes);
    *bytes = fits ? static_cast<std::uint64_t>(whole) : max_forecast_bytes;
  }
  return result;
}

}  // namespace switchyard::harness
