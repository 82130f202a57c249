// SPDX-License-Identifier: Apache-2.0
// One character of UTF-8 after another, for what is printed and for XML.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace switchyard::harness {

struct utf8_character {
  std::optional<char32_t> code;  ///< none: the byte starts no well-formed sequence
  std::size_t bytes = 1;
};

/// The character that starts `text`, by the table of well-formed sequences of RFC 3629. Precondition: not empty.
utf8_character first_character(std::string_view text) noexcept;

}  // namespace switchyard::harness
