// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_variants.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench_text.hpp"

namespace switchyard::harness {
namespace {

using json = nlohmann::ordered_json;

const bench_point* usual_of(std::span<const bench_point> points, const bench_point& varied) {
  const auto found = std::ranges::find_if(points, [&](const bench_point& point) {
    return point.variant == bench_variant::usual && point.tokens == varied.tokens && point.asked == varied.asked;
  });
  return found == points.end() ? nullptr : &*found;
}

json samples_json(std::span<const double> samples) {
  json list = json::array();
  for (const auto one : samples) list.push_back(rounded_us(one));
  return list;
}

json rounded_or_no_value(const std::optional<double>& value) { return value ? json(rounded_us(*value)) : json(); }

}  // namespace

std::optional<double> variant_comparison::allowed_us() const noexcept {
  constexpr double least_us = 0.1;
  if (!usual.aa_shift_us || !varied.aa_shift_us) return std::nullopt;
  return std::max({least_us, *usual.aa_shift_us, *varied.aa_shift_us});
}

std::optional<bool> variant_comparison::equal() const noexcept {
  const auto allowed = allowed_us();
  if (!allowed) return std::nullopt;
  return std::abs(difference_us()) <= *allowed;
}

std::vector<variant_comparison> compare_variants(std::span<const bench_point> points) {
  std::vector<variant_comparison> result;
  for (const auto& varied : points) {
    if (varied.variant == bench_variant::usual) continue;
    const auto* const usual = usual_of(points, varied);
    if (usual == nullptr) continue;
    variant_comparison one{varied.tokens, {varied.asked, varied.variant}, {}, {}, {}, {}};
    one.usual_us = max_over_ranks(usual->round_trip_us);
    one.varied_us = max_over_ranks(varied.round_trip_us);
    one.usual = summary_of(one.usual_us);
    one.varied = summary_of(one.varied_us);
    result.push_back(std::move(one));
  }
  return result;
}

std::string variants_text(std::span<const variant_comparison> compared) {
  const auto us = [](double value) { return text_of("%.2f", value) + " us"; };
  std::string text;
  for (const auto& one : compared) {
    text += std::string(to_string(one.way.variant)) + ", " + std::string(to_string(one.way.transport)) + ", " +
            std::to_string(one.tokens) + (one.tokens == 1 ? " token: " : " tokens: ") + us(one.varied.median_us) +
            ", usual " + us(one.usual.median_us) + "; " + us(std::abs(one.difference_us())) +
            (one.difference_us() <= 0 ? " less" : " more");
    const auto equal = one.equal();
    text += !equal
                ? ", noise not known: too few samples"
                : ", allowed max(A/A noise, 0.1 us) = " + us(*one.allowed_us()) + (*equal ? ": equal" : ": not equal");
    text += '\n';
  }
  return text;
}

json to_json(const variant_comparison& one) {
  const auto equal = one.equal();
  json result;
  result["record"] = "bench_variant";
  result["tokens"] = one.tokens;
  result["transport"] = to_string(one.way.transport);
  result["variant"] = to_string(one.way.variant);
  result["usual_us"] = rounded_us(one.usual.median_us);
  result["varied_us"] = rounded_us(one.varied.median_us);
  result["difference_us"] = rounded_us(one.difference_us());
  result["usual_aa_shift_us"] = rounded_or_no_value(one.usual.aa_shift_us);
  result["varied_aa_shift_us"] = rounded_or_no_value(one.varied.aa_shift_us);
  result["allowed_us"] = rounded_or_no_value(one.allowed_us());
  result["within"] = equal ? json(*equal) : json();
  result["usual_raw_us"] = samples_json(one.usual_us);
  result["varied_raw_us"] = samples_json(one.varied_us);
  return result;
}

}  // namespace switchyard::harness
