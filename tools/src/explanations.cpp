// SPDX-License-Identifier: Apache-2.0
// Looking words up, and what comes near to one that is not there.
#include "explanations.hpp"

#include <algorithm>
#include <numeric>

#include "switchyard/harness/exit_code.hpp"

namespace switchyard::tools {
namespace {

/// The fewest insertions, deletions and replacements of letters that make one of the other (Levenshtein).
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const auto replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string_view word_of_exit_code(std::string_view number) {
  if (number.size() != 1 || number[0] < '0' || number[0] > '9') return {};
  return to_string(static_cast<harness::exit_code>(number[0] - '0'));
}

}  // namespace

const std::vector<explanation>& all_explanations() {
  static const std::vector<explanation> all = [] {
    auto joined = fault_explanations();
    for (const auto& more :
         {field_explanations(), result_explanations(), gate_explanations(), scenario_field_explanations()}) {
      joined.insert(joined.end(), more.begin(), more.end());
    }
    return joined;
  }();
  return all;
}

std::vector<explanation> explanations_of(std::string_view word) {
  const auto of_number = word_of_exit_code(word);
  std::vector<explanation> found;
  for (const auto& one : all_explanations()) {
    // A number is an exit code, and nothing else that goes by its word.
    const bool meant = of_number.empty() ? one.word == word : one.word == of_number && one.kind == "exit code";
    if (meant) found.push_back(one);
  }
  return found;
}

std::vector<std::string_view> words_by_distance(std::string_view word) {
  std::vector<std::string_view> words;
  for (const auto& one : all_explanations()) {
    if (std::find(words.begin(), words.end(), one.word) == words.end()) words.push_back(one.word);
  }
  std::stable_sort(words.begin(), words.end(), [word](std::string_view left, std::string_view right) {
    return edit_distance(word, left) < edit_distance(word, right);
  });
  return words;
}

}  // namespace switchyard::tools
