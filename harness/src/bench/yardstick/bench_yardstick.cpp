// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_yardstick.hpp"

#include "switchyard/harness/bench_accounting.hpp"
#include "switchyard/harness/bench_repeat.hpp"

namespace switchyard::harness {
namespace {

void keep_faster(std::optional<nccl_best>& best, const nccl_variant& variant,
                 const std::vector<std::vector<double>>& samples) {
  if (samples.empty() || samples.front().empty()) return;
  const auto noise = noise_of(max_over_ranks(samples));
  if (!best || noise.median_us < best->time_us) best = {variant, noise.median_us, noise.aa_shift_us};
}

}  // namespace

std::string_view to_string(nccl_scheme scheme) noexcept {
  switch (scheme) {
    case nccl_scheme::all_gather: return "all_gather";
    case nccl_scheme::send_receive: return "send_receive";
  }
  return "unknown";
}

std::string_view to_string(nccl_memory memory) noexcept {
  switch (memory) {
    case nccl_memory::plain: return "plain";
    case nccl_memory::registered: return "registered";
    case nccl_memory::symmetric_window: return "symmetric_window";
  }
  return "unknown";
}

std::string to_string(const nccl_variant& variant) {
  return std::string(to_string(variant.memory)) + ", graph mixing " + std::to_string(variant.graph_mixing);
}

nccl_figures figures_of(std::span<const nccl_measurement> measured, nccl_scheme scheme, const bench_shape& shape,
                        std::int64_t tokens) {
  nccl_figures result;
  for (const auto& one : measured) {
    if (one.scheme != scheme || one.tokens != tokens || one.shape != shape) continue;
    if (!one.failure.empty()) {
      result.failed.push_back(to_string(one.variant) + ": " + one.failure);
      continue;
    }
    keep_faster(result.dispatch, one.variant, one.dispatch_us);
    keep_faster(result.round_trip, one.variant, one.round_trip_us);
  }
  return result;
}

}  // namespace switchyard::harness
