// SPDX-License-Identifier: Apache-2.0
// Typed access to the members of JSON objects.
#include "json_members.hpp"

#include <algorithm>

namespace switchyard::harness {

void refuse(const json_at& at, std::string_view rule, rule_kind kind) {
  refuse(at.place, one_line(at.value), rule, kind);
}

void require_object(const json_at& at) {
  if (!at.value.is_object()) refuse(at, "must be an object");
}

void require_array(const json_at& at) {
  if (!at.value.is_array()) refuse(at, "must be an array");
}

json_at member(const json_at& object, std::string_view key) {
  const auto found = object.value.find(std::string(key));
  if (found == object.value.end()) refuse(object.place.child(key), "", "missing");
  return {*found, object.place.child(key)};
}

json_at element(const json_at& array, std::size_t index) { return {array.value[index], array.place.child(index)}; }

void require_known(const json_at& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.value.items()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      refuse(json_at{value, object.place.child(key)}, "unknown field");
    }
  }
}

bool is_word(std::string_view text) noexcept {
  const auto legal = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), legal);
}

std::string read_word(const json_at& at) {
  if (at.value.is_string()) {
    auto text = at.value.get<std::string>();
    if (is_word(text)) return text;
  }
  refuse(at, "must be a text of one or more of a-z, 0-9 and _");
}

std::string read_sentence(const json_at& at) {
  if (at.value.is_string()) {
    auto text = at.value.get<std::string>();
    const auto control = [](char letter) { return static_cast<unsigned char>(letter) < 0x20U || letter == 0x7F; };
    if (!text.empty() && std::none_of(text.begin(), text.end(), control)) return text;
  }
  refuse(at, "must be a text that is not empty, on one line");
}

}  // namespace switchyard::harness
