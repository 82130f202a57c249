// SPDX-License-Identifier: Apache-2.0
// The shape of an expert-parallel group's work: what every rank of the group must agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "switchyard/spec/dtypes.hpp"
#include "switchyard/spec/formats.hpp"

namespace switchyard {

inline constexpr int max_ep_size = 256;  ///< a rank fits a byte of a fault notice; 72 is one NVL72 rack
inline constexpr int max_top_k = 32;     ///< one route bit per slot fits a 32-bit word

/// Parameters of an EP group. Equal on all ranks; construction checks that they are.
/// Rules: every size > 0; top_k <= min(num_experts, max_top_k); num_experts >= ep_size (it need not divide);
/// invalid_expert_id outside [0, num_experts).
struct comm_params {
  std::int64_t num_experts = 0;
  std::int64_t top_k = 0;
  std::int64_t max_tokens_per_rank = 0;               ///< the largest T of any step
  std::int64_t hidden_size = 0;                       ///< elements of a token's row
  switchyard::dtype dtype = switchyard::dtype::bf16;  ///< of expert outputs and of combine's result
  std::optional<switchyard::dispatch_format> dispatch_format = std::nullopt;  ///< none: rows of `dtype`
  std::int32_t invalid_expert_id = -1;                                        ///< the id that rows holding no token get

  /// Bytes of one token's hidden states and of their scales while they travel.
  [[nodiscard]] constexpr format_bytes dispatch_bytes() const noexcept {
    const auto elements = static_cast<std::size_t>(hidden_size);
    return dispatch_format ? bytes_of(*dispatch_format, elements) : format_bytes{elements * itemsize(dtype), 0};
  }
  /// hidden_states plus hidden_states_scale bytes of one token.
  [[nodiscard]] constexpr std::size_t dispatch_bytes_per_token() const noexcept {
    return dispatch_bytes().hidden_states + dispatch_bytes().hidden_states_scale;
  }

  friend constexpr bool operator==(const comm_params&, const comm_params&) = default;
};

}  // namespace switchyard
