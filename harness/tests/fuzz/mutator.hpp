// SPDX-License-Identifier: Apache-2.0
// Spoils texts for parsers, some as bytes and some as JSON: the second kind gets past the reader of JSON to the rules
// behind it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "switchyard/harness/generator_random.hpp"

namespace switchyard::harness::fuzz {

enum class text_form : std::uint8_t {
  document,  ///< one JSON value
  lines,     ///< one JSON value a line
  plain,     ///< no JSON
};

/// Immutable; input `number` of `seed` is always the same text.
class mutator {
 public:
  /// `seeds` are texts that the parser takes, at least one; `words` are what its rules know.
  mutator(text_form form, std::vector<std::string> seeds, std::vector<std::string> words);

  [[nodiscard]] std::string make(std::uint64_t seed, std::uint64_t number) const;

 private:
  using json = nlohmann::ordered_json;

  [[nodiscard]] const std::string& any_seed(counter_random& random) const;
  [[nodiscard]] json any_value(counter_random& random) const;
  [[nodiscard]] std::string any_word(counter_random& random) const;
  void spoil_tree(json& root, counter_random& random) const;
  void spoil_members(json& node, counter_random& random) const;
  [[nodiscard]] std::string spoil_json(const std::string& text, counter_random& random) const;
  void spoil_lines(std::string& text, counter_random& random) const;
  void spoil_bytes(std::string& text, counter_random& random) const;

  text_form form_;
  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
  std::vector<json> trees_;  // of the seeds' documents or lines
};

}  // namespace switchyard::harness::fuzz
