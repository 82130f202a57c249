// SPDX-License-Identifier: Apache-2.0
// Crossovers as lines for people and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench_text.hpp"
#include "switchyard/harness/bench_crossover.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

std::string us(double value) { return text_of("%.2f", value) + " us"; }

std::string summary_text(const trip_summary& of) {
  auto text = us(of.median_us);
  if (of.p10_us && of.p90_us)
    text += " (p10 " + text_of("%.2f", *of.p10_us) + ", p90 " + text_of("%.2f", *of.p90_us) + ')';
  return text;
}

std::string tokens_text(std::int64_t tokens) { return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens"); }

std::string list_text(const std::vector<std::int64_t>& tokens) {
  std::string text;
  for (const auto one : tokens) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return text;
}

json rounded_or_null(const std::optional<double>& value) { return value ? json(rounded_us(*value)) : json(); }

json summary_json(const trip_summary& of) {
  return {{"count", of.count},
          {"median_us", rounded_us(of.median_us)},
          {"p10_us", rounded_or_null(of.p10_us)},
          {"p90_us", rounded_or_null(of.p90_us)},
          {"aa_shift_us", rounded_or_null(of.aa_shift_us)}};
}

}  // namespace

std::string comparison_text(const transport_comparison& point) {
  const auto difference = point.difference_us();
  auto text = tokens_text(point.tokens) + ": lamport " + summary_text(point.lamport) + ", fence " +
              summary_text(point.fence) + "; lamport " + us(std::abs(difference)) +
              (difference <= 0 ? " less" : " more");
  if (!point.noise_us) return text + ", noise not known: too few samples";
  return text + ", noise " + us(*point.noise_us) + (point.decided() ? ": decided" : ": not decided");
}

std::string crossover_text(const crossover& found) {
  if (found.kind == crossover_kind::unmeasured) {
    return "crossover: unknown: no point has been measured both by fence and by lamport\n";
  }
  if (found.kind == crossover_kind::none) {
    const auto nearest = std::ranges::min_element(found.points, {}, &transport_comparison::difference_us);
    return "crossover: none: lamport is slower than fence at every point\n  by the least at " +
           comparison_text(*nearest) + '\n';
  }
  const auto& last = found.points[found.last];
  auto text = found.kind == crossover_kind::beyond
                  ? "crossover: beyond the last point: lamport is at most fence at " + tokens_text(last.tokens) + '\n'
                  : "crossover: " + tokens_text(last.tokens) + ": the most at which lamport is at most fence\n";
  text += "  " + comparison_text(last) + '\n';
  if (found.kind == crossover_kind::within) text += "  " + comparison_text(found.points[found.last + 1]) + '\n';
  if (const auto below = found.fence_faster_below(); !below.empty()) {
    text += "  not the only crossing: below it, fence is faster at " + list_text(below) + '\n';
  }
  return text;
}

std::string auto_check_text(std::span<const auto_verdict> verdicts) {
  if (verdicts.empty()) return "auto: not checked: no point has been measured by fence, lamport and auto\n";
  const auto slow = std::ranges::count_if(verdicts, [](const auto& one) { return !one.within(); });
  const auto points = std::to_string(verdicts.size()) + (verdicts.size() == 1 ? " point" : " points");
  if (slow == 0) {
    return "auto: within max(5 %, 0.3 us, A/A noise) of the better of fence and lamport at all of " + points + '\n';
  }
  auto text = "auto: slower than the better of fence and lamport by more than max(5 %, 0.3 us, A/A noise) at " +
              std::to_string(slow) + " of " + points + '\n';
  for (const auto& one : verdicts) {
    if (one.within()) continue;
    text += "  " + tokens_text(one.tokens) + ": auto " + us(one.auto_us) + ", " + std::string(to_string(one.better)) +
            ' ' + us(one.better_us) + ", allowed " + us(one.allowed_us) + '\n';
  }
  return text;
}

json to_json(const transport_comparison& point) {
  return {{"tokens", point.tokens},
          {"fence", summary_json(point.fence)},
          {"lamport", summary_json(point.lamport)},
          {"difference_us", rounded_us(point.difference_us())},
          {"noise_us", rounded_or_null(point.noise_us)},
          {"decided", point.decided()}};
}

json to_json(const crossover& found) {
  const bool crosses = found.kind == crossover_kind::within || found.kind == crossover_kind::beyond;
  json result;
  result["record"] = "bench_crossover";
  result["kind"] = to_string(found.kind);
  result["tokens"] = crosses ? json(found.points[found.last].tokens) : json();
  result["next_tokens"] = found.kind == crossover_kind::within ? json(found.points[found.last + 1].tokens) : json();
  result["fence_faster_below"] = found.fence_faster_below();
  result["points"] = json::array();
  for (const auto& point : found.points) result["points"].push_back(to_json(point));
  return result;
}

json auto_check_json(std::span<const auto_verdict> verdicts) {
  json result;
  result["record"] = "bench_auto_check";
  result["within"] =
      verdicts.empty() ? json() : json(std::ranges::all_of(verdicts, [](const auto& one) { return one.within(); }));
  result["points"] = json::array();
  for (const auto& one : verdicts) {
    result["points"].push_back({{"tokens", one.tokens},
                                {"auto_us", rounded_us(one.auto_us)},
                                {"better", to_string(one.better)},
                                {"better_us", rounded_us(one.better_us)},
                                {"allowed_us", rounded_us(one.allowed_us)},
                                {"within", one.within()}});
  }
  return result;
}

}  // namespace switchyard::harness
