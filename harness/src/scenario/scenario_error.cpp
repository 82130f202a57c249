// SPDX-License-Identifier: Apache-2.0
// Places in JSON files and the one form of message for bad input.
#include "switchyard/harness/scenario_error.hpp"

#include "switchyard/harness/printable.hpp"

namespace switchyard::harness {

input_place input_place::child(std::string_view key) const {
  input_place inner{file, pointer + '/'};
  for (const char letter : key) {
    if (letter == '~') {
      inner.pointer += "~0";
    } else if (letter == '/') {
      inner.pointer += "~1";
    } else if (static_cast<unsigned char>(letter) < 0x20U) {  // as JSON writes it; a NUL would end the message
      constexpr char digits[] = "0123456789abcdef";
      const auto code = static_cast<unsigned char>(letter);
      inner.pointer += std::string("\\u00") + digits[code >> 4U] + digits[code & 0xFU];
    } else {
      inner.pointer += letter;
    }
  }
  return inner;
}

input_place input_place::child(std::size_t index) const { return child(std::to_string(index)); }

std::string shortened(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return std::string(text);
  auto kept = most_bytes;
  // Cut before a character, not inside one: continuation bytes of UTF-8 are 10xxxxxx.
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U) --kept;
  return std::string(text.substr(0, kept)) + "...";
}

std::string shortened_id(std::string_view id) {
  constexpr std::size_t most = 800;  // ids that set every field are nearly as long
  return shortened(id, most);
}

input_error::input_error(const std::string& message, rule_kind kind)
    : std::runtime_error(printable(message)), kind_(kind) {}

void refuse(const input_place& place, std::string_view value, std::string_view rule, rule_kind kind) {
  constexpr std::size_t most_of_value = 60;  // enough to recognise a value, short enough for one line
  constexpr std::size_t most_of_pointer = 300;
  std::string message = place.file;
  if (!place.pointer.empty()) message += ": " + shortened(place.pointer, most_of_pointer);
  if (!value.empty()) message += ": " + shortened(value, most_of_value);
  message += ": ";
  message += rule;
  throw input_error(message, kind);
}

}  // namespace switchyard::harness
