// SPDX-License-Identifier: Apache-2.0
// Element types of payload and combine rows. Words only: conversions live with whoever does the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace switchyard {

/// Element type of expert outputs and of combine's result.
enum class dtype : std::uint8_t {
  bf16,  ///< bfloat16: 1 sign, 8 exponent, 7 fraction bits
  fp16,  ///< IEEE 754 binary16
  fp32,  ///< IEEE 754 binary32
};

/// Bytes of one element.
constexpr std::size_t itemsize(dtype type) noexcept { return type == dtype::fp32 ? 4 : 2; }

/// The word used in scenario files, records and messages.
constexpr std::string_view to_string(dtype type) noexcept {
  switch (type) {
    case dtype::bf16: return "bf16";
    case dtype::fp16: return "fp16";
    case dtype::fp32: return "fp32";
  }
  return "unknown";
}

/// The inverse of to_string; nothing for a word that names no dtype.
constexpr std::optional<dtype> dtype_from_string(std::string_view word) noexcept {
  for (auto type : {dtype::bf16, dtype::fp16, dtype::fp32}) {
    if (word == to_string(type)) return type;
  }
  return std::nullopt;
}

}  // namespace switchyard
