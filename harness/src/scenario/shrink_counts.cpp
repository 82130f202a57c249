// SPDX-License-Identifier: Apache-2.0
// Counts by step and rank, taken apart and put together again.
#include "shrink_counts.hpp"

#include <algorithm>
#include <sstream>

namespace switchyard::harness {
namespace {

using step_list = std::vector<std::vector<std::int64_t>>;

step_list parse(const std::string& counts) {
  step_list steps;
  std::istringstream text(counts);
  for (std::string step; std::getline(text, step, '/');) {
    auto& ranks = steps.emplace_back();
    std::istringstream counts_of_step(step);
    for (std::string count; std::getline(counts_of_step, count, ':');) ranks.push_back(std::stoll(count));
  }
  return steps;
}

std::string text_of(const step_list& steps) {
  std::string text;
  for (const auto& step : steps) {
    if (!text.empty()) text += '/';
    for (std::size_t rank = 0; rank < step.size(); ++rank) text += (rank > 0 ? ":" : "") + std::to_string(step[rank]);
  }
  return text;
}

}  // namespace

std::vector<std::string> simpler_counts(const std::string& counts) {
  const auto steps = parse(counts);
  std::vector<std::string> simpler;
  if (steps.size() > 1) {
    for (const auto& step : steps) simpler.push_back(text_of({step}));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto fewer = steps;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      simpler.push_back(text_of(fewer));
    }
  }
  const auto add_changed = [&](std::size_t step, auto change) {
    auto changed = steps;
    change(changed[step]);
    if (changed != steps) simpler.push_back(text_of(changed));
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    add_changed(i, [](auto& ranks) { ranks = {*std::max_element(ranks.begin(), ranks.end())}; });
    add_changed(i, [](auto& ranks) { std::fill(ranks.begin(), ranks.end(), 0); });
    add_changed(i, [](auto& ranks) {
      for (auto& count : ranks) count /= 2;
    });
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t rank = 0; rank < steps[i].size(); ++rank) {
      const auto count = steps[i][rank];
      for (const auto less : {std::int64_t{0}, count / 2, count - 1}) {
        if (less >= 0 && less < count) add_changed(i, [&](auto& ranks) { ranks[rank] = less; });
      }
    }
  }
  return simpler;
}

std::string counts_without_rank(const std::string& counts, std::size_t rank) {
  auto steps = parse(counts);
  for (auto& ranks : steps) {
    if (ranks.size() > 1 && rank < ranks.size()) ranks.erase(ranks.begin() + static_cast<std::ptrdiff_t>(rank));
  }
  return text_of(steps);
}

std::int64_t largest_count(const std::string& counts) {
  std::int64_t largest = 0;
  for (const auto& step : parse(counts)) largest = std::max(largest, *std::max_element(step.begin(), step.end()));
  return largest;
}

}  // namespace switchyard::harness
