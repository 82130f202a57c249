// SPDX-License-Identifier: Apache-2.0
// A stand-in for the experts, defined to the last bit so that combine can be compared byte for byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "switchyard/spec/shapes.hpp"

namespace switchyard::reference {

/// Which factor an expert puts on a row.
enum class expert_law : std::uint8_t {
  scaled,    ///< expert_scale: experts differ, so a row that went to a wrong one is seen in the sum
  identity,  ///< 1: sums can be worked out by hand
};

inline constexpr std::array all_expert_laws{expert_law::scaled, expert_law::identity};

constexpr std::string_view to_string(expert_law law) noexcept {
  return law == expert_law::identity ? "identity" : "scaled";
}

/// The fp32 factor of an expert under expert_law::scaled: ((expert mod 64) + 1) / 64, exact.
float expert_scale(std::int32_t expert);

/// What rank `owner` returns for one received row:
///   y[j] = round_to_dtype( sum over slots k, ascending, whose expert `owner` owns, of c[k] * x[j] )
/// with c[k] = topk_weights[k] * f(topk_ids[k]), f being expert_scale or 1 as `law` says; every product and sum rounded
/// to fp32, the sum starting from the first product; NaN results canonical as in combine_token. `topk_weights` empty:
/// every weight is 1. x[j] is what element j of the row stands for:
///   no dispatch format, bf16, fp16: the element itself, widened to fp32, whatever the dtype;
///   fp8: the e4m3 element; the scale of the tensor does not travel and counts as 1;
///   fp8_block128, mxfp8, mxfp4: the e4m3 or e2m1 element times the fp32 or e8m0 scale of its block;
///   nvfp4: the e2m1 element times the e4m3 scale of its block; the scale of the tensor counts as 1;
/// the product rounded to fp32 before c[k] is put on it: quantise.hpp's dequantise_row with tensor_scale 1.
/// hidden_row, scale_row: params.dispatch_bytes() bytes, scale_row null where the format sends no scales; out:
/// hidden_size elements of params.dtype; none need be aligned. A row none of whose experts belongs to `owner` gives +0.
/// Throws switchyard::invalid_argument when the spans' lengths, `owner` or a null pointer contradict the shape.
void simulated_expert_row(int owner, int ep_size, const comm_params& params, std::span<const std::int32_t> topk_ids,
                          std::span<const float> topk_weights, const std::byte* hidden_row, const std::byte* scale_row,
                          std::byte* out, expert_law law = expert_law::scaled);

}  // namespace switchyard::reference
