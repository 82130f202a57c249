// SPDX-License-Identifier: Apache-2.0
// What a grid of points comes to: where a yardstick is faster, and whether times of formats follow their bytes.
// Arithmetic and words on what was measured, no device.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "switchyard/harness/bench_run.hpp"
#include "switchyard/harness/bench_yardstick.hpp"

namespace switchyard::harness {

/// A point beside one NCCL scheme, round trips: these are timed by the same method.
struct yardstick_verdict {
  bench_shape shape;
  std::int64_t tokens = 0;
  bench_transport asked = bench_transport::automatic;
  nccl_scheme scheme = nccl_scheme::all_gather;
  double ours_us = 0;
  double theirs_us = 0;   ///< of the fastest variant whose result is right
  double allowed_us = 0;  ///< theirs_us and max(5 %, 0.3 us, the A/A shift of either)

  [[nodiscard]] bool slower() const noexcept { return ours_us > allowed_us; }
};

/// Dispatch of one format beside that of bf16 rows, all else equal.
struct format_ratio {
  bench_shape shape;
  std::int64_t tokens = 0;
  bench_transport asked = bench_transport::automatic;
  double dispatch_us = 0;
  double bf16_dispatch_us = 0;
  /// Of the remote bytes: hidden states and scales. Null: nothing is remote.
  std::optional<double> byte_ratio;

  [[nodiscard]] double time_ratio() const noexcept { return dispatch_us / bf16_dispatch_us; }
};

struct grid_summary {
  std::vector<yardstick_verdict> yardsticks;  ///< of every point and scheme that has a right variant
  std::vector<format_ratio> formats;          ///< in the order of the points

  [[nodiscard]] bool empty() const noexcept { return yardsticks.empty() && formats.empty(); }
};
/// `compared`: the points that stand beside NCCL, of one transport; `points`: all.
grid_summary summarise_grid(std::span<const bench_point> compared, std::span<const bench_point> points,
                            std::span<const nccl_measurement> measured);

/// Lines and a Markdown table; empty for an empty summary.
std::string grid_text(const grid_summary& summary);
nlohmann::ordered_json to_json(const grid_summary& summary);

}  // namespace switchyard::harness
