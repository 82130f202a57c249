// SPDX-License-Identifier: Apache-2.0
// Numbers in the bench's tables and records.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

inline std::string text_of(const char* format, double value) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

inline std::string text_or_null(const char* format, const std::optional<double>& value) {
  return value ? text_of(format, *value) : "null";
}

/// "fence", or "auto: lamport" where the library chose.
inline std::string transport_text(bench_transport asked, transport taken) {
  const auto name = std::string(to_string(asked));
  return name == to_string(taken) ? name : name + ": " + std::string(to_string(taken));
}

/// To the nanosecond: the clock is no finer.
inline double rounded_us(double microseconds) { return std::round(microseconds * 1000.0) / 1000.0; }

}  // namespace switchyard::harness
