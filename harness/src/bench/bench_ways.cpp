// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "switchyard/harness/bench_run.hpp"

namespace switchyard::harness {

std::optional<bench_transport> bench_transport_of(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(all_bench_transports, name, [](auto which) { return to_string(which); });
  if (found == all_bench_transports.end()) return std::nullopt;
  return *found;
}

std::optional<bench_variant> bench_variant_of(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(all_bench_variants, name, [](auto which) { return to_string(which); });
  if (found == all_bench_variants.end()) return std::nullopt;
  return *found;
}

std::vector<bench_way> ways_of(const bench_options& options) {
  std::vector<bench_way> ways;
  for (const auto transport : options.transports) {
    ways.push_back({transport, bench_variant::usual});
    for (const auto variant : options.variants) ways.push_back({transport, variant});
  }
  return ways;
}

std::vector<bench_options> options_of_shapes(const bench_options& options) {
  auto alone = options;
  alone.shapes.clear();
  if (options.shapes.empty()) return {alone};
  std::vector<bench_options> result;
  for (const auto& shape : options.shapes) {
    alone.params = params_of(shape, options.params);
    alone.low_precision_combine = shape.low_precision_combine;
    result.push_back(alone);
  }
  return result;
}

}  // namespace switchyard::harness
