// SPDX-License-Identifier: Apache-2.0
// What is thrown for input that breaks a rule: scenario files, arguments, output folders. The program exits with 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace switchyard::harness {

/// What kind of rule is broken.
enum class rule_kind : std::uint8_t {
  form,      ///< what a JSON Schema can say of a place: members, types, bounds, words; scenarios/schema/ says it too
  relation,  ///< what it cannot say: how values go together, a key that is there twice, how a number is spelled
};

/// Input that breaks a rule. The message is one line that names the place, the value and the rule.
class input_error : public std::runtime_error {
 public:
  /// What `message` hides (printable.hpp) is spelt out: it quotes input, which can be anything.
  explicit input_error(const std::string& message, rule_kind kind = rule_kind::form);

  [[nodiscard]] rule_kind kind() const noexcept { return kind_; }

 private:
  rule_kind kind_;
};

/// `text`, or its start and "..." when it has more than `most_bytes` bytes. Never ends inside a UTF-8 character.
std::string shortened(std::string_view text, std::size_t most_bytes);

/// A case id as far as a message needs it.
std::string shortened_id(std::string_view id);

/// A place in a JSON file.
struct input_place {
  std::string file;
  std::string pointer;  ///< JSON pointer; empty: the whole document

  [[nodiscard]] input_place child(std::string_view key) const;  ///< `key` is escaped as RFC 6901 asks
  [[nodiscard]] input_place child(std::size_t index) const;
};

/// Throws input_error "file: pointer: value: rule"; `value` is JSON text, or empty when the value is what is missing.
/// Long pointers and values are shortened.
[[noreturn]] void refuse(const input_place& place, std::string_view value, std::string_view rule,
                         rule_kind kind = rule_kind::form);

}  // namespace switchyard::harness
