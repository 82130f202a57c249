// SPDX-License-Identifier: Apache-2.0
#include "transport_choice.hpp"

#include <algorithm>
#include <array>

namespace switchyard {
namespace {

constexpr std::size_t row_granularity = 4;

}  // namespace

support lamport_support(const one_sided_config& config) {
  if (config.lamport == choice::off) return {false, "lamport is off"};
  return {true, {}};
}

transport_choice choose_transport(const one_sided_config& config, std::int64_t tokens_per_rank,
                                  const dispatch_inputs& inputs) {
  if (config.lamport == choice::off) return {transport::fence, "lamport is off"};
  if (tokens_per_rank > config.lamport_max_tokens) {
    return {transport::fence, "runtime_max_tokens_per_rank is above lamport_max_tokens"};
  }
  const std::array payloads{inputs.hidden_states, inputs.topk_ids, inputs.topk_weights, inputs.hidden_states_scale,
                            inputs.extra};
  const bool whole = std::all_of(payloads.begin(), payloads.end(), [](const payload& each) {
    return !each.present || each.row_bytes % row_granularity == 0;
  });
  if (!whole) return {transport::fence, "a payload's row_bytes is not a multiple of 4"};
  return {transport::lamport, "runtime_max_tokens_per_rank is at most lamport_max_tokens"};
}

}  // namespace switchyard
