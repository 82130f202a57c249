// SPDX-License-Identifier: Apache-2.0
// Counts by step and rank: reading, walking, writing.
#include "switchyard/harness/step_counts.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace switchyard::harness {
namespace {

/// The parts of `text` between the separators, one at least.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> count_from(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;  // one spelling per value
  std::int64_t count = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, count);
  if (failure != std::errc{} || rest != end || count > step_counts::most_count) return std::nullopt;
  return count;
}

}  // namespace

std::optional<step_counts> step_counts::parse(std::string_view text) {
  step_counts table;
  table.steps_.clear();
  std::size_t counts = 0;
  for (const auto ranks : parts_of(text, '/')) {
    auto& of_step = table.steps_.emplace_back();
    for (const auto part : parts_of(ranks, ':')) {
      const auto count = count_from(part);
      if (!count || ++counts > most_counts) return std::nullopt;
      of_step.push_back(*count);
    }
  }
  return table;
}

std::int64_t step_counts::at(int step, int rank) const noexcept {
  const auto& of_step = steps_[static_cast<std::size_t>(step) % steps_.size()];
  return of_step.size() == 1 ? of_step.front() : of_step[static_cast<std::size_t>(rank)];
}

std::int64_t step_counts::largest() const noexcept {
  std::int64_t most = 0;
  for (const auto& of_step : steps_) most = std::max(most, *std::max_element(of_step.begin(), of_step.end()));
  return most;
}

bool step_counts::fits(int ep_size) const noexcept {
  return std::all_of(steps_.begin(), steps_.end(), [ep_size](const auto& of_step) {
    return of_step.size() == 1 || of_step.size() == static_cast<std::size_t>(ep_size);
  });
}

std::string step_counts::text() const {
  std::string out;
  for (const auto& of_step : steps_) {
    if (!out.empty()) out += '/';
    for (std::size_t rank = 0; rank < of_step.size(); ++rank) {
      if (rank > 0) out += ':';
      out += std::to_string(of_step[rank]);
    }
  }
  return out;
}

}  // namespace switchyard::harness
