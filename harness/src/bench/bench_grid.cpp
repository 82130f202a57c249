// SPDX-License-Identifier: Apache-2.0
#include "switchyard/harness/bench_grid.hpp"

#include <algorithm>

#include "switchyard/harness/bench_crossover.hpp"
#include "switchyard/harness/bench_repeat.hpp"

namespace switchyard::harness {
namespace {

bool has_bf16_rows(const bench_shape& shape) {
  return shape.dispatch_format ? *shape.dispatch_format == dispatch_format::bf16 : shape.dtype == dtype::bf16;
}

/// The same point with bf16 rows; null where none was measured.
const bench_point* bf16_beside(std::span<const bench_point> points, const bench_point& point) {
  const auto found = std::ranges::find_if(points, [&](const bench_point& other) {
    auto shape = other.shape;
    shape.dispatch_format = point.shape.dispatch_format;
    return has_bf16_rows(other.shape) && shape == point.shape && other.tokens == point.tokens &&
           other.asked == point.asked;
  });
  return found == points.end() ? nullptr : &*found;
}

void judge_point(const bench_point& point, std::span<const nccl_measurement> measured,
                 std::vector<yardstick_verdict>& into) {
  const auto ours = noise_of(max_over_ranks(point.round_trip_us));
  for (const auto scheme : {nccl_scheme::all_gather, nccl_scheme::send_receive}) {
    const auto theirs = figures_of(measured, scheme, point.shape, point.tokens).round_trip;
    if (!theirs) continue;
    const auto noise_us = std::max(ours.aa_shift_us.value_or(0), theirs->aa_shift_us.value_or(0));
    into.push_back({point.shape, point.tokens, point.asked, scheme, ours.median_us, theirs->time_us,
                    theirs->time_us + tolerance_us(theirs->time_us, noise_us)});
  }
}

}  // namespace

grid_summary summarise_grid(std::span<const bench_point> compared, std::span<const bench_point> points,
                            std::span<const nccl_measurement> measured) {
  grid_summary summary;
  for (const auto& point : compared) judge_point(point, measured, summary.yardsticks);
  for (const auto& point : points) {
    if (has_bf16_rows(point.shape) || point.dispatch.spans.kernel_us.empty()) continue;
    const auto* const bf16 = bf16_beside(points, point);
    if (bf16 == nullptr || bf16->dispatch.spans.kernel_us.empty()) continue;
    format_ratio ratio{point.shape,
                       point.tokens,
                       point.asked,
                       median_of(point.dispatch.spans.kernel_us),
                       median_of(bf16->dispatch.spans.kernel_us),
                       {}};
    if (const auto bytes = bf16->dispatch.bytes.remote_bytes; bytes != 0) {
      ratio.byte_ratio = static_cast<double>(point.dispatch.bytes.remote_bytes) / static_cast<double>(bytes);
    }
    summary.formats.push_back(ratio);
  }
  return summary;
}

}  // namespace switchyard::harness
