// SPDX-License-Identifier: Apache-2.0
// What a grid comes to, as lines for people and as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench_text.hpp"
#include "switchyard/harness/bench_grid.hpp"

namespace switchyard::harness {
namespace {

std::string point_text(const bench_shape& shape, std::int64_t tokens) {
  return shape_text(shape) + ", " + std::to_string(tokens) + (tokens == 1 ? " token" : " tokens");
}

std::string yardsticks_text(const std::vector<yardstick_verdict>& verdicts) {
  const auto slow = std::ranges::count_if(verdicts, &yardstick_verdict::slower);
  const auto compared = std::to_string(verdicts.size()) + (verdicts.size() == 1 ? " round trip" : " round trips");
  if (slow == 0) return "yardsticks: not slower beyond max(5 %, 0.3 us, A/A noise) in all of " + compared + '\n';
  auto text =
      "yardsticks: slower beyond max(5 %, 0.3 us, A/A noise) in " + std::to_string(slow) + " of " + compared + '\n';
  for (const auto& one : verdicts) {
    if (!one.slower()) continue;
    text += "  " + point_text(one.shape, one.tokens) + ": " + std::string(to_string(one.asked)) + ' ' +
            text_of("%.2f", one.ours_us) + " us, " + std::string(to_string(one.scheme)) + ' ' +
            text_of("%.2f", one.theirs_us) + " us, allowed " + text_of("%.2f", one.allowed_us) + " us\n";
  }
  return text;
}

std::string formats_text(const std::vector<format_ratio>& ratios) {
  std::string text =
      "dispatch of formats beside that of bf16 rows\n\n"
      "| shape | tokens | transport | dispatch us | bf16 us | time / bf16 | bytes / bf16 |\n"
      "| --- | ---: | --- | ---: | ---: | ---: | ---: |\n";
  for (const auto& one : ratios) {
    text += "| " + shape_text(one.shape) + " | " + std::to_string(one.tokens) + " | " +
            std::string(to_string(one.asked)) + " | " + text_of("%.2f", one.dispatch_us) + " | " +
            text_of("%.2f", one.bf16_dispatch_us) + " | " + text_of("%.3f", one.time_ratio()) + " | " +
            text_or_null("%.3f", one.byte_ratio) + " |\n";
  }
  return text;
}

template <class Entry>
nlohmann::ordered_json place_json(const Entry& entry) {
  return {{"shape", to_json(entry.shape)}, {"tokens", entry.tokens}, {"transport", to_string(entry.asked)}};
}

}  // namespace

std::string grid_text(const grid_summary& summary) {
  std::string text;
  if (!summary.yardsticks.empty()) text = yardsticks_text(summary.yardsticks);
  if (!summary.formats.empty()) text += (text.empty() ? "" : "\n") + formats_text(summary.formats);
  return text;
}

nlohmann::ordered_json to_json(const grid_summary& summary) {
  nlohmann::ordered_json result;
  result["record"] = "bench_grid";
  result["compared_round_trips"] = summary.yardsticks.size();
  result["slower"] = nlohmann::ordered_json::array();
  for (const auto& one : summary.yardsticks) {
    if (!one.slower()) continue;
    auto entry = place_json(one);
    entry["scheme"] = to_string(one.scheme);
    entry["ours_us"] = rounded_us(one.ours_us);
    entry["theirs_us"] = rounded_us(one.theirs_us);
    entry["allowed_us"] = rounded_us(one.allowed_us);
    result["slower"].push_back(std::move(entry));
  }
  result["formats"] = nlohmann::ordered_json::array();
  for (const auto& one : summary.formats) {
    auto entry = place_json(one);
    entry["dispatch_us"] = rounded_us(one.dispatch_us);
    entry["bf16_dispatch_us"] = rounded_us(one.bf16_dispatch_us);
    entry["time_ratio"] = one.time_ratio();
    entry["byte_ratio"] = one.byte_ratio ? nlohmann::ordered_json(*one.byte_ratio) : nlohmann::ordered_json();
    result["formats"].push_back(std::move(entry));
  }
  return result;
}

}  // namespace switchyard::harness
