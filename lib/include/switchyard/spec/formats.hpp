// SPDX-License-Identifier: Apache-2.0
// Formats in which hidden states travel in dispatch, and the bytes that each one needs per token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace switchyard {

/// How hidden states are encoded while they travel. The format sizes buffers; rows are opaque bytes to the library.
enum class dispatch_format : std::uint8_t {
  bf16,
  fp16,
  fp8,           ///< e4m3, one scale for the tensor, which does not travel
  fp8_block128,  ///< e4m3, one fp32 scale per 128 elements
  mxfp8,         ///< OCP MX: e4m3, one e8m0 scale per 32 elements
  nvfp4,         ///< e2m1, one e4m3 scale per 16 elements
  mxfp4,         ///< OCP MX: e2m1, one e8m0 scale per 32 elements
};

/// Bytes of one token's row in the hidden_states payload, and in the hidden_states_scale payload (0: no such payload).
struct format_bytes {
  std::size_t hidden_states = 0;
  std::size_t hidden_states_scale = 0;
};

/// Exact row bytes of `hidden_size` elements in `format`. Source: OCP MX 1.0 for mxfp8 and mxfp4; block sizes of
/// nvfp4 and fp8_block128 as CUTLASS and DeepSeek-V3 define them.
constexpr format_bytes bytes_of(dispatch_format format, std::size_t hidden_size) noexcept {
  const auto per = [hidden_size](std::size_t block) { return (hidden_size + block - 1) / block; };
  switch (format) {
    case dispatch_format::bf16:
    case dispatch_format::fp16: return {2 * hidden_size, 0};
    case dispatch_format::fp8: return {hidden_size, 0};
    case dispatch_format::fp8_block128: return {hidden_size, 4 * per(128)};
    case dispatch_format::mxfp8: return {hidden_size, per(32)};
    case dispatch_format::nvfp4: return {per(2), per(16)};
    case dispatch_format::mxfp4: return {per(2), per(32)};
  }
  return {};
}

/// The word used in scenario files, records and messages.
constexpr std::string_view to_string(dispatch_format format) noexcept {
  switch (format) {
    case dispatch_format::bf16: return "bf16";
    case dispatch_format::fp16: return "fp16";
    case dispatch_format::fp8: return "fp8";
    case dispatch_format::fp8_block128: return "fp8_block128";
    case dispatch_format::mxfp8: return "mxfp8";
    case dispatch_format::nvfp4: return "nvfp4";
    case dispatch_format::mxfp4: return "mxfp4";
  }
  return "unknown";
}

/// The inverse of to_string; nothing for a word that names no format.
constexpr std::optional<dispatch_format> dispatch_format_from_string(std::string_view word) noexcept {
  for (auto format : {dispatch_format::bf16, dispatch_format::fp16, dispatch_format::fp8, dispatch_format::fp8_block128,
                      dispatch_format::mxfp8, dispatch_format::nvfp4, dispatch_format::mxfp4}) {
    if (word == to_string(format)) return format;
  }
  return std::nullopt;
}

}  // namespace switchyard
