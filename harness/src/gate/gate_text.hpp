// SPDX-License-Identifier: Apache-2.0
// Numbers in reasons and tables of the gate.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace switchyard::harness::gate {

inline constexpr double whole = 100;  ///< in percent

inline std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}
inline std::string us_text(double value) { return formatted("%.3f", value); }
inline std::string signed_us(double value) { return formatted("%+.3f", value); }
inline std::string signed_percent(double value) { return formatted("%+.2f", value); }
inline std::string q_text(double value) { return formatted("%.2g", value); }

}  // namespace switchyard::harness::gate
