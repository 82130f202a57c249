// SPDX-License-Identifier: Apache-2.0
// What was decided about lamport_max_tokens, as lines for people and as JSON.
#include <nlohmann/json.hpp>

#include "bench_text.hpp"
#include "switchyard/config.hpp"
#include "switchyard/harness/lamport_tuning.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

std::string tokens_list(const std::vector<std::int64_t>& tokens) {
  std::string text;
  for (const auto one : tokens) text += (text.empty() ? "" : ", ") + std::to_string(one);
  return text;
}

}  // namespace

std::string tuning_text(std::span<const transport_comparison> points, const lamport_threshold& threshold) {
  if (!threshold.measured) return "nothing to set: no point has been measured both by fence and by lamport\n";
  std::string text;
  if (threshold.max_tokens == 0) {
    text =
        "set one_sided_config::lamport = choice::off: beyond the noise, no threshold is better than none\n"
        "  in a scenario: \"lamport\": \"off\"; for bench: --lamport off\n";
  } else {
    const auto value = std::to_string(threshold.max_tokens);
    text = "set one_sided_config::lamport_max_tokens = " + value + " (the default is " +
           std::to_string(one_sided_config().lamport_max_tokens) +
           ")\n  in a scenario: \"lamport_max_tokens\": " + value + "; for bench: --lamport-max-tokens " + value + "\n";
  }
  text += "  the library reads no environment variable: who constructs it sets the field, equal on all ranks\n";
  text += "because:\n";
  const transport_comparison* below = nullptr;
  const transport_comparison* above = nullptr;
  for (const auto& point : points) {
    if (point.tokens <= threshold.max_tokens) below = &point;
    if (point.tokens > threshold.max_tokens && above == nullptr) above = &point;
  }
  for (const auto* const point : {below, above}) {
    if (point != nullptr) text += "  " + comparison_text(*point) + '\n';
  }
  if (threshold.as_good_up_to > threshold.max_tokens) {
    text += "  up to " + std::to_string(threshold.as_good_up_to) + " would do as well within the noise\n";
  }
  if (threshold.open_ended) {
    text += "  nothing above " + std::to_string(points.back().tokens) +
            " tokens was measured, and fence was not faster there: --max-tokens measures further\n";
  }
  if (!threshold.too_slow_at.empty()) {
    text += "  no threshold is right everywhere: with this one, steps of " + tokens_list(threshold.too_slow_at) +
            " tokens are slower than by the other transport by more than max(5 %, 0.3 us, noise)\n";
  }
  return text;
}

std::string comparison_table(std::span<const transport_comparison> points) {
  std::string table =
      "| tokens | fence us | p10 us | p90 us | lamport us | p10 us | p90 us | lamport - fence us | noise us | faster "
      "|\n"
      "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  for (const auto& point : points) {
    const auto* const faster = !point.decided() ? "not decided" : point.difference_us() < 0 ? "lamport" : "fence";
    table += "| " + std::to_string(point.tokens) + " |";
    for (const auto& of : {point.fence, point.lamport}) {
      table += ' ' + text_of("%.2f", of.median_us) + " | " + text_or_null("%.2f", of.p10_us) + " | " +
               text_or_null("%.2f", of.p90_us) + " |";
    }
    table += ' ' + text_of("%+.2f", point.difference_us()) + " | " + text_or_null("%.2f", point.noise_us) + " | " +
             faster + " |\n";
  }
  return table;
}

nlohmann::ordered_json to_json(std::span<const transport_comparison> points, const lamport_threshold& threshold) {
  const bool any = threshold.measured && threshold.max_tokens > 0;
  json result;
  result["record"] = "bench_tune";
  result["lamport"] = threshold.measured ? json(to_string(any ? choice::automatic : choice::off)) : json();
  result["lamport_max_tokens"] = any ? json(threshold.max_tokens) : json();
  result["default_lamport_max_tokens"] = one_sided_config().lamport_max_tokens;
  result["as_good_up_to_tokens"] = threshold.measured ? json(threshold.as_good_up_to) : json();
  result["open_ended"] = threshold.open_ended;
  result["too_slow_at_tokens"] = threshold.too_slow_at;
  result["points"] = json::array();
  for (const auto& point : points) result["points"].push_back(to_json(point));
  return result;
}

}  // namespace switchyard::harness
