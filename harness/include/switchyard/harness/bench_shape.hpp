// SPDX-License-Identifier: Apache-2.0
// What a step of a bench is made of beside its tokens: by this, points are told apart and named.
#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "switchyard/spec/low_precision.hpp"
#include "switchyard/spec/shapes.hpp"

namespace switchyard::harness {

struct bench_shape {
  std::int64_t hidden_size = 0;
  std::int64_t top_k = 0;
  std::int64_t num_experts = 0;
  switchyard::dtype dtype = switchyard::dtype::bf16;                          ///< of expert outputs
  std::optional<switchyard::dispatch_format> dispatch_format = std::nullopt;  ///< none: rows of `dtype`
  low_precision low_precision_combine = low_precision::none;

  friend auto operator<=>(const bench_shape&, const bench_shape&) = default;
};

bench_shape shape_of(const comm_params& params, low_precision combine);
/// `like` with what the shape says.
comm_params params_of(const bench_shape& shape, const comm_params& like);

/// The word of a format in options and texts: "none" where rows have none.
std::string format_word(const std::optional<dispatch_format>& format);

/// "hidden 7168, top-8 of 256, mxfp8", and ", combine fp8" where combine is in low precision.
std::string shape_text(const bench_shape& shape);

/// {"hidden_size", "top_k", "num_experts", "dtype", "dispatch_format": null where there is none,
/// "low_precision_combine"}; the reader throws nlohmann::json::exception for what is not that.
nlohmann::ordered_json to_json(const bench_shape& shape);
bench_shape bench_shape_from(const nlohmann::json& json);

}  // namespace switchyard::harness
