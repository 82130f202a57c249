// SPDX-License-Identifier: Apache-2.0
// What a terminal would not show, or would show elsewhere, is spelt out.
#include "switchyard/harness/printable.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "utf8.hpp"

namespace switchyard::harness {
namespace {

/// Controls, format characters and noncharacters (Unicode general categories Cc, Cf, Zl, Zp and Cn at a plane's end):
/// a message with a right-to-left override in it reads as another message.
constexpr std::array<std::pair<char32_t, char32_t>, 12> hidden{{{0x00, 0x1F},
                                                                {0x7F, 0x9F},
                                                                {0xAD, 0xAD},
                                                                {0x61C, 0x61C},
                                                                {0x180E, 0x180E},
                                                                {0x200B, 0x200F},
                                                                {0x2028, 0x202E},
                                                                {0x2060, 0x206F},
                                                                {0xFEFF, 0xFEFF},
                                                                {0xFFF9, 0xFFFB},
                                                                {0xFFFE, 0xFFFF},
                                                                {0xE0000, 0xE0FFF}}};

bool is_hidden(char32_t code) noexcept {
  return std::any_of(hidden.begin(), hidden.end(),
                     [code](const auto& range) { return code >= range.first && code <= range.second; });
}

std::string escaped(char32_t code) {
  switch (code) {
    case U'\n': return "\\n";
    case U'\r': return "\\r";
    case U'\t': return "\\t";
    default: break;
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), code > 0xFFFF ? "\\U%08x" : "\\u%04x", static_cast<unsigned>(code));
  return text.data();
}

}  // namespace

utf8_character first_character(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<char32_t>(static_cast<unsigned char>(text[i])) : U'\0';
  };
  const auto lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {};
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {code, length};
}

std::string printable(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const auto next = first_character(text);
    if (!next.code) {
      std::array<char, 8> byte{};
      std::snprintf(byte.data(), byte.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
      line += byte.data();
    } else if (is_hidden(*next.code)) {
      line += escaped(*next.code);
    } else {
      line += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return line;
}

}  // namespace switchyard::harness
