// SPDX-License-Identifier: Apache-2.0
// Typed access to the members of JSON objects; every refusal names file, pointer, value and rule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json_text.hpp"

namespace switchyard::harness {

/// A JSON value and where it stands.
struct json_at {
  const nlohmann::json& value;
  input_place place;
};

[[noreturn]] void refuse(const json_at& at, std::string_view rule, rule_kind kind = rule_kind::form);

void require_object(const json_at& at);
void require_array(const json_at& at);

/// The member of an object. Throws when it is missing.
json_at member(const json_at& object, std::string_view key);
json_at element(const json_at& array, std::size_t index);

/// Throws at the first member whose key is not among `known`.
void require_known(const json_at& object, std::initializer_list<std::string_view> known);

/// Calls `read` with each element of an array that has at least one; `what` names one in the message.
template <typename Read>
void for_each_element(const json_at& array, std::string_view what, Read read) {
  require_array(array);
  if (array.value.empty()) refuse(array, "must have at least one " + std::string(what));
  for (std::size_t i = 0; i < array.value.size(); ++i) read(element(array, i));
}

/// Texts of an array, each made by `read` from its element. Throws where one is there twice.
template <typename Read>
std::vector<std::string> read_distinct(const json_at& array, Read read) {
  require_array(array);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < array.value.size(); ++i) {
    auto text = read(element(array, i));
    if (std::find(texts.begin(), texts.end(), text) != texts.end()) refuse(element(array, i), "is there twice");
    texts.push_back(std::move(text));
  }
  return texts;
}

/// Whether `text` is one or more of a-z, 0-9 and _.
bool is_word(std::string_view text) noexcept;
/// A text that is_word: what may stand in a case id.
std::string read_word(const json_at& at);
/// A text that says something and fits a line of output: not empty, no control characters.
std::string read_sentence(const json_at& at);

}  // namespace switchyard::harness
